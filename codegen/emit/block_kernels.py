"""Writes elementwise regions as kernels: machine code that runs through blocks of the arrays.

::

    @njit(error_model="numpy", nogil=True)
    def f_kernel(x, a, value):
        if x.size > 1024:
            half = x.size // 16 * 8
            f_kernel(x[:half], a, value[:half])
            f_kernel(x[half:], a, value[half:])
            return
        n = x.size
        y = np.empty(n)
        # model.py:3  y = np.exp(x)
        exp_of(x, y)
        for i in range(n):
            # model.py:4  return y * a + x
            value[i] = y[i] * a + x[i]

Operations of the processor stand in loops over the elements of a block; functions are NumPy's own
loops, called for a block between these (`codegen.emit.elements`). Sums are those of blocks, added
as NumPy's pairwise sum adds its halves. What one loop makes for what follows it lies in arrays as
long as a block. A kernel writes to arrays that it is given for its results, and returns sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from codegen.emit.elements import Given, Literal, Operand, Step, behind, given, read
from codegen.emit.numba import KERNELS, imports, numbers_of
from codegen.emit.python import INLINE_WIDTH
from codegen.emit.target import Kernel, literal
from codegen.emit.writer import Names, Writer
from codegen.ir import Call, Graph, Origin, Trait, Value
from codegen.passes.fuse import SPLIT
from codegen.spelling import Fragment
from codegen.types import ArrayType

BLOCK = 1024
"""Elements of a block at most: a few arrays of so many lie in the nearest cache."""

FEW = 4
"""Arrays of a block that a kernel may have besides its arguments; with more, blocks are halved."""

SUM = "sum_of"


@dataclass(eq=False)
class Made:
    """What a step makes: where it is computed, how often it is read there, and its place.

    Phases are numbered in the order of the source: functions have even numbers, loops odd ones.
    What is `kept` lies in an array named `place`, for another phase. Anything else is a `variable`
    of the loop.
    """

    origin: Origin
    name: str | None
    final: bool
    phase: int = 0
    reads: int = 0
    kept: bool = False
    place: str = ""
    variable: str = ""
    reader: Step | None = None


@dataclass
class Total:
    """A sum: of what, for which value, after which phase."""

    operand: Operand
    result: Value
    phase: int
    name: str = ""


@dataclass
class BlockKernel:
    """The kernel of an elementwise region, a part of a `program`."""

    body: Graph
    program: Graph
    made: dict[Step, Made] = field(default_factory=dict)
    totals: list[Total] = field(default_factory=list)
    outputs: dict[Value, str] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        number = self.body.name.removeprefix(f"{self.program.name}_elements")
        self.name = f"{self.program.name}_kernel{number}"
        self.plain = self.body.replace(name=f"{self.program.name}_tile{number}")
        self.called = (self.body.name, self.plain.name, self.name)
        self.parameters = dict(zip(self.body.inputs, self.body.frame.parameters, strict=True))
        self.arrays = [name for v, name in self.parameters.items() if v.type.shape]
        self.numbers = {v: name for v, name in self.parameters.items() if not v.type.shape}
        self._read()
        self.functions = sorted(
            {*(f"{s.function}_of" for s in self.made if s.function), *([SUM] * bool(self.totals))}
        )
        taken = {self.name, "np", *self.functions, *self.parameters.values()}
        self.names = Names(taken)
        self.length, self.index = self.names.wish("n"), self.names.wish("i")
        self.names.reserved |= {self.length, self.index}
        self._name_results()

    # -- what is computed where -----------------------------------------------------------------

    def _read(self) -> None:
        """Finds the steps of the calls, and the phase of each."""
        known: dict[Value, Operand] = {}
        self.steps: dict[Value, Step] = {}
        self.at = self.begin = 0  # the phase of the last loop; where this section begins
        section = ""
        for call in self.body.nodes:
            if not isinstance(call, Call):
                continue
            result = call.results[0]
            operands = [known.get(v) or given(self.body, v) for v in call.operands]
            if result.origin.section != section:
                section = result.origin.section
                last = max((made.phase for made in self.made.values()), default=-1)
                self.begin = last + 1 + (last + 1) % 2
            if Trait.TOTAL in call.op.traits:
                phase = self.made[operands[0]].phase if isinstance(operands[0], Step) else 0
                self.totals.append(Total(operands[0], result, max(phase + phase % 2, self.begin)))
                continue
            root = read(call, operands)
            assert isinstance(root, Step)
            for step in behind(root, {x for x in operands if isinstance(x, Step)}):
                origin = result.origin
                name = origin.name if step is root else None
                self.made[step] = Made(origin, name, bool(name) and origin.final)
                self._place_in_order(step)
            known[result] = self.steps[result] = root
        for step in self.made:
            for name, x in step.operands.items():
                if isinstance(x, Step) and x.varies:
                    self.made[x].reads += 1 if step.function else step.spelling.uses[name]
                    self.made[x].reader = step
        for total in self.totals:
            if isinstance(total.operand, Step):
                self.made[total.operand].reads += 1

    def _place_in_order(self, step: Step) -> None:
        """Gives a step the first phase in which its operands are there."""
        earliest = self.begin
        for x in step.operands.values():
            if isinstance(x, Step) and x.varies:
                phase = self.made[x].phase
                before = bool(x.function) != bool(step.function)
                earliest = max(earliest, phase + before)
        if step.function:
            self.made[step].phase = earliest + earliest % 2
        else:
            self.at = max(self.at, earliest)
            self.at += 1 - self.at % 2
            self.made[step].phase = self.at

    def _name_results(self) -> None:
        """Names sums and the arrays for results; tells what else lies in arrays, and what nests."""
        sums = {total.result: total for total in self.totals}
        for value in dict.fromkeys(self.body.outputs):
            name = self.names.wish(value.origin.name or ("total" if value in sums else "value"))
            self.names.reserved.add(name)
            if value in sums:
                sums[value].name = name
            else:
                self.outputs[value] = self.made[self.steps[value]].place = name
        for step, made in self.made.items():
            for x in step.operands.values():
                if isinstance(x, Step) and x.varies and self.made[x].phase != made.phase:
                    self.made[x].kept = True
            made.kept = made.kept or bool(step.function)
        for total in self.totals:
            if isinstance(total.operand, Step):
                self.made[total.operand].kept = True
        self._find_nested()

    def _name(self, step: Step) -> str:
        """A name that no value has any more whose array, if it is one, could hold this one."""
        made = self.made[step]
        dtype = step.type.dtype if made.kept else None
        numbered = bool(made.name) and not made.final and not made.origin.section
        found = self.names.wish(
            made.name or "t", lambda name: self.variables.get(name, dtype) != dtype, numbered
        )
        self.variables[found] = dtype
        return found

    # -- the call -------------------------------------------------------------------------------

    def write_choice(self, writer: Writer[Origin], called: Mapping[str, str]) -> None:
        """The function that runs the kernel, or NumPy source.

        `called` has the names of the helpers that it calls.
        """
        line, body = writer.line, self.body
        parameters = ", ".join(body.frame.parameters)
        line(f"def {body.name}({parameters}):")
        writer.depth += 1
        writer.comment("As machine code, where that is there and arrays are in C order.")
        tests = [self.name, *(f"{name}.flags.c_contiguous" for name in self.arrays)]
        line(f"if {' and '.join(tests)}:")
        writer.depth += 1
        self._run(writer, called["in_parts"])
        writer.depth -= 1
        one = "[0]" if len(body.outputs) == 1 else ""
        line(f"return {called['in_tiles']}({self.plain.name}, [{parameters}]){one}")
        writer.depth -= 1

    def _run(self, writer: Writer[Origin], in_parts: str) -> None:
        """Makes room for results, runs the kernel, and returns them with NumPy's types."""
        line, whole = writer.line, self.arrays[0]
        flat = ".ravel()" if self._ndim > 1 else ""
        for value, name in self.outputs.items():
            line(f"{name} = np.empty({whole}.shape{_dtype(value.type.dtype)})")
        arrays = [f"{name}{flat}" for name in self.arrays]
        numbers = [numbers_of(v, name) for v, name in self.numbers.items()]
        given = ", ".join([*arrays, *numbers, *(f"{n}{flat}" for n in self.outputs.values())])
        sums = {total.result: total.name for total in self.totals}
        got = f"{', '.join(sums.values())} = " if sums else ""
        line(f"if {whole}.nbytes < {SPLIT}:")
        line(f"    {got}{self.name}({given})")
        line("else:")
        types = ", ".join(f"np.{value.type.dtype}" for value in sums)
        got = f"({', '.join(sums.values())},) = " if len(sums) == 1 else got
        line(f"    {got}{in_parts}({self.name}, [{given}], [{types}])")
        texts = [
            f"np.{value.type.dtype}({sums[value]})" if value in sums else self.outputs[value]
            for value in self.body.outputs
        ]
        line(f"return {', '.join(texts)}")

    @property
    def _ndim(self) -> int:
        return max(value.type.ndim for value in self.parameters)

    # -- the kernel -----------------------------------------------------------------------------

    def write(self, writer: Writer[Origin]) -> Kernel:
        """Writes the function of the kernel."""
        self.writer = inner = Writer[Origin]()
        inner.depth = 1
        self._phases()
        if self.totals:
            inner.line(f"return {', '.join(total.name for total in self.totals)}")
        alone: Writer[Origin] = Writer()
        alone.line('@njit(error_model="numpy", nogil=True)')
        numbers = list(self.numbers.values())
        places = list(self.outputs.values())
        alone.line(f"def {self.name}({', '.join([*self.arrays, *numbers, *places])}):")
        alone.depth += 1
        self._begin(alone)
        alone.lines += inner.lines
        alone.marks += inner.marks
        text, marks = alone.written()
        for line, mark in zip(text.splitlines(), marks, strict=True):
            writer.ready.add(len(writer.lines))
            writer.line(line, mark)
        lines = [*imports(self.functions), "", "", text]
        read = [v for v in self.parameters if v.type.shape]
        takes = (*map(_flat, read), *(v.type for v in self.numbers), *map(_flat, self.outputs))
        returns = tuple(total.result.type for total in self.totals)
        called = tuple(self.functions)
        text = "\n".join(lines)
        return Kernel(self.name, text, called, takes, returns, self.body.name, len(places))

    def _begin(self, writer: Writer[Origin]) -> None:
        """Runs longer arrays by halves, as NumPy's pairwise sum adds them; makes room."""
        line, whole = writer.line, self.arrays[0]
        room = [(name, dtype) for name, dtype in self.variables.items() if dtype]
        if room or self.totals:
            self._halves(line, BLOCK if len(room) <= FEW else BLOCK // 2)
        line(f"{self.length} = {whole}.size")
        for name, dtype in room:
            line(f"{name} = np.empty({self.length}{_dtype(dtype)})")

    def _halves(self, line: Callable[[str], None], most: int) -> None:
        whole = self.arrays[0]
        half = self.names.wish("half")
        line(f"if {whole}.size > {most}:")
        line(f"    {half} = {whole}.size // 16 * 8")
        calls = []
        for part in (f"[:{half}]", f"[{half}:]"):
            arrays = [f"{name}{part}" for name in self.arrays]
            places = [f"{name}{part}" for name in self.outputs.values()]
            given = ", ".join([*arrays, *self.numbers.values(), *places])
            calls.append(f"{self.name}({given})")
        if not self.totals:
            line(f"    {calls[0]}")
            line(f"    {calls[1]}")
            line("    return")
            return
        one, two = self.names.wish("first"), self.names.wish("second")
        line(f"    {one} = {calls[0]}")
        line(f"    {two} = {calls[1]}")
        sums = [f"{one} + {two}"]
        if len(self.totals) > 1:
            sums = [f"{one}[{k}] + {two}[{k}]" for k in range(len(self.totals))]
        line(f"    return {', '.join(sums)}")

    def _phases(self) -> None:
        """The functions and loops, in their order."""
        line = self.writer.line
        self.group: tuple[object, ...] = ()
        self.section = ""
        last = max([made.phase for made in self.made.values()] + [t.phase for t in self.totals])
        self.left = {step: made.reads for step, made in self.made.items()}
        for phase in range(last + 1):
            steps = [step for step, made in self.made.items() if made.phase == phase]
            if phase % 2 and steps:
                self._loop(steps)
            for step in () if phase % 2 else steps:
                made = self.made[step]
                operands = [self._array(x) for x in step.operands.values()]
                made.place = made.place or self._name(step)
                self._section_of(made.origin)
                self._line_of(made.origin)
                line(f"{step.function}_of({', '.join([*operands, made.place])})")
            for total in self.totals:
                if total.phase == phase:
                    self._section_of(total.result.origin)
                    self._line_of(total.result.origin)
                    line(f"{total.name} = {SUM}({self._array(total.operand)})")

    def _section_of(self, origin: Origin) -> None:
        """The section, above what comes from another one."""
        if origin.section != self.section:
            self.section = origin.section
            self.group = ()
            if self.writer.lines:
                self.writer.line()
            if origin.section:
                self.writer.comment(origin.section)

    def _line_of(self, origin: Origin) -> None:
        """The user's line, above what comes from another one."""
        group = (origin.file, origin.line)
        if origin.line and group != self.group:
            self.writer.comment(f"{origin.file}:{origin.line}  {origin.text}", origin)
        self.group = group

    def _array(self, x: Operand) -> str:
        """What a function is given of an operand: an array, or a number."""
        if isinstance(x, Step):
            self._has_been_read(x)
            return self.made[x].place
        if isinstance(x, Given):
            return self.parameters[x.value]
        assert isinstance(x, Literal)
        return self._literal(x).text

    def _loop(self, steps: Sequence[Step]) -> None:
        """The loop over the elements of a block that computes steps."""
        self._section_of(self.made[steps[0]].origin)
        self.writer.line(f"for {self.index} in range({self.length}):")
        self.writer.depth += 1
        for step in steps:
            made = self.made[step]
            if step in self.nested:
                continue
            shown = self._expression(step)
            self._line_of(made.origin)
            if made.kept:
                made.place = made.place or self._name(step)
                self.writer.line(f"{made.place}[{self.index}] = {shown.text}")
            elif made.place:
                self.writer.line(f"{made.place}[{self.index}] = {shown.text}")
            else:
                made.variable = self._name(step)
                self.writer.line(f"{made.variable} = {shown.text}")
        self.writer.depth -= 1

    def _find_nested(self) -> None:
        """Finds the steps that are written where they are read."""
        self.nested: set[Step] = set()
        width: dict[Step, int] = {}  # about how long the source of a step is
        for step, made in self.made.items():
            operands = step.operands.values()
            parts = [width[x] if x in self.nested else 3 for x in operands if isinstance(x, Step)]
            width[step] = sum(parts) + 4 * len(operands)
            if made.kept or made.place or made.reads != 1 or made.final or made.reader is None:
                continue
            reader = self.made[made.reader].origin
            here = (made.origin.section, made.origin.file, made.origin.line)
            together = here == (reader.section, reader.file, reader.line)
            if together and width[step] <= INLINE_WIDTH:
                self.nested.add(step)

    def _expression(self, step: Step) -> Fragment:
        return step.spelling.render({n: self._fragment(x) for n, x in step.operands.items()})

    def _fragment(self, x: Operand) -> Fragment:
        """An operand of an element."""
        if isinstance(x, Literal):
            return self._literal(x)
        if isinstance(x, Given):
            name = self.parameters[x.value]
            return Fragment(f"{name}[{self.index}]" if x.varies else name)
        assert isinstance(x, Step)
        if not x.varies:
            return self._expression(x)
        self._has_been_read(x)
        made = self.made[x]
        if made.place:
            return Fragment(f"{made.place}[{self.index}]")
        return Fragment(made.variable) if made.variable else self._expression(x)

    def _has_been_read(self, step: Step) -> None:
        """Counts one reading; behind the last one the name may be given again."""
        made = self.made[step]
        self.left[step] -= 1
        if not self.left[step] and (made.place in self.variables or made.variable):
            self.names.rest(made.place or made.variable)

    def _literal(self, x: Literal) -> Fragment:
        shown = literal(x.number, KERNELS)
        return Fragment(f"np.float32({shown.text})") if x.type == ArrayType("float32") else shown


def _dtype(dtype: str) -> str:
    """What `np.empty` is told of a dtype."""
    return {"float64": "", "bool": ", np.bool_"}.get(dtype, f", np.{dtype}")


def _flat(value: Value) -> ArrayType:
    """The type of an array with one axis."""
    return ArrayType(value.type.dtype, value.type.shape[:1])
