"""A seed enters, a graph with loops leaves.

The graphs nest loops, counted and not, and leave them in every way: after the last turn, by a
return, by the next turn of a loop further out. Every loop comes to an end.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import toy

from codegen import ArrayType, Block, Graph, Value
from codegen.ir import (
    Again,
    Branch,
    Builder,
    Call,
    Constant,
    Counter,
    Frame,
    Loop,
    Origin,
    with_operands,
)
from codegen.sizes import Sizes, symbol
from codegen.spelling import Subscript
from codegen.types import weak

FLOAT, INT, NUMBER = ArrayType("float64"), weak("int"), weak("float")
ARRAY = ArrayType("float64", (symbol("n0"),))
TYPES = (FLOAT, FLOAT, INT, NUMBER, ARRAY)
KINDS = ["float", "float", "int", "array", "array", "update", "item", "sum", "number"]


@dataclass
class Around:
    """A loop around: `fuel` is what it has left of turns, where nothing counts them."""

    label: str
    parameters: tuple[Value, ...]
    fuel: Value | None
    tests_last: bool
    after: Block | None = None  # what follows the last turn


class Maker:
    """Makes one graph."""

    def __init__(self, seed: int, deep: int = 3) -> None:
        self.random = random.Random(seed)
        self.deep = deep
        self.labels = 0
        self.line = 1
        self.budget = 20  # blocks

    def graph(self) -> Graph:
        inputs = (
            Value(FLOAT, Origin("x", True)),
            Value(ARRAY, Origin("y", True)),
            Value(INT, Origin("n", True)),
        )
        block = self.block(list(inputs), [])
        names = ("x", "y", "n")
        return Graph("f", inputs, block.nodes, block.outputs, Frame(names, names), Sizes())

    def origin(self) -> Origin:
        if self.random.random() < 0.6:
            self.line += 1
        name = self.random.choice(["h", "s", "x", "y", "t", "n", None, None])
        return Origin(name, name is not None and self.random.random() < 0.7, "f.py", self.line)

    def block(self, known: list[Value], around: list[Around]) -> Block:
        """A block that ends somehow."""
        self.budget -= 1
        builder = Builder(Sizes())
        known = list(known)
        for _ in range(self.random.randint(0, 3)):
            known.append(self.call(builder, known))
        return self.end(builder, known, around)

    def end(self, builder: Builder, known: list[Value], around: list[Around]) -> Block:
        chosen = self.random.random()
        if around and around[-1].after and chosen > 0.65 and self.budget > 0:
            return self.break_(builder, known, around[-1])
        if self.budget > 0 and chosen < 0.3:
            test = self.test(builder, known)
            blocks = tuple(self.block(known, around) for _ in range(2))
            outcomes = self.random.choice([(True, False), (False, True)])
            return self.ended(builder, Branch(test, "bool", outcomes, blocks, self.origin()))
        if self.budget > 0 and len(around) < self.deep and chosen < (0.5 if around else 0.95):
            return self.loop(builder, known, around)
        if around and chosen < 0.9:
            return self.again(builder, known, around)
        outputs = tuple(self.random.choice(known) for _ in range(self.random.randint(1, 3)))
        return Block(tuple(builder.nodes), outputs, origin=self.origin())

    def ended(self, builder: Builder, node) -> Block:
        return Block((*builder.nodes, node))

    def number(self, builder: Builder, value: float) -> Value:
        return builder.constant(value, weak(type(value).__name__), origin=self.origin())

    def test(self, builder: Builder, known: list[Value]) -> Value:
        """A look, of a number or of a comparison."""
        one = self.pick(builder, known, self.random.choice([FLOAT, INT]))
        if self.random.random() < 0.3:
            two = self.number(builder, self.random.choice([0, 1, 2, 0.5]))
        else:
            two = self.pick(builder, known, self.random.choice([FLOAT, INT]))
        return builder.call(toy.OPS["greater"], (one, two), self.origin())[0]

    def pick(self, builder: Builder, known: list[Value], type: ArrayType) -> Value:
        """A value of a type, the newer the rather."""
        found = [value for value in known if value.type == type]
        if not found or self.random.random() < 0.1:
            if type == ARRAY:
                return builder.call(toy.OPS["zeros"], (), self.origin(), shape=ARRAY.shape)[0]
            number = self.random.choice([0, 1, 2]) if type == INT else 0.25
            return builder.constant(number, type, origin=self.origin())
        return found[-1 - int(len(found) * self.random.random() ** 2)]

    def call(self, builder: Builder, known: list[Value]) -> Value:
        ops, origin = toy.OPS, self.origin()
        pick = lambda type: self.pick(builder, known, type)
        match self.random.choice(KINDS):
            case "float":
                name = self.random.choice(["add", "sub", "sin", "neg", "mul"])
                one, two = pick(FLOAT), pick(self.random.choice([FLOAT, FLOAT, INT]))
                one = builder.call(ops["sin"], (one,), origin)[0] if name == "mul" else one
                two = builder.call(ops["sin"], (two,), origin)[0] if name == "mul" else two
                operands = (one,) if name in ("sin", "neg") else (one, two)
                return builder.call(ops[name], operands, origin)[0]
            case "int":
                name = self.random.choice(["add", "sub"])
                return builder.call(ops[name], (pick(INT), self.number(builder, 1)), origin)[0]
            case "number":
                name = self.random.choice(["add", "sub"])
                return builder.call(ops[name], (pick(NUMBER), pick(INT)), origin)[0]
            case "array":
                name = self.random.choice(["add", "sub", "sin"])
                operands = (pick(ARRAY),) if name == "sin" else (pick(ARRAY), pick(FLOAT))
                return builder.call(ops[name], operands, origin)[0]
            case "update":
                index = Subscript((self.random.randint(0, 2),))
                operands = (pick(ARRAY), pick(FLOAT))
                return builder.call(ops["setitem"], operands, origin, index=index)[0]
            case "item":
                at = Subscript((self.random.randint(0, 2),))
                return builder.call(ops["getitem"], (pick(ARRAY),), origin, index=at)[0]
        return builder.call(ops["sum"], (pick(ARRAY),), origin)[0]

    def loop(self, builder: Builder, known: list[Value], around: list[Around]) -> Block:
        self.labels += 1
        label = f"L{self.labels}"
        types = [self.random.choice(TYPES) for _ in range(self.random.randint(1, 3))]
        counted = self.random.random() < 0.6
        arguments = []
        for type in types:
            if type == FLOAT and self.random.random() < 0.3:
                arguments.append(self.number(builder, self.random.choice([0.0, 1])))
            else:
                arguments.append(self.pick(builder, known, type))
        parameters = [Value(type, self.origin()) for type in types]
        fuel = None
        if not counted:
            arguments.append(self.number(builder, self.random.randint(1, 3)))
            fuel = Value(INT, self.origin())
            parameters.append(fuel)
        here = Around(label, tuple(parameters), fuel, self.random.random() < 0.5)
        inside = [*known, *parameters]
        counter = None
        if counted:
            step = self.random.choice([1, 1, 2, -1])
            limits = [self.number(builder, self.random.randint(0, 3)), self.pick(builder, [], INT)]
            if step < 0:
                top = builder.call(toy.OPS["sub"], (known[2], limits[0]))[0]
                limits = [top, self.number(builder, -1)]
            else:
                limits[0] = self.number(builder, 0) if self.random.random() < 0.7 else limits[0]
                limits[1] = known[2] if self.random.random() < 0.7 else limits[1]
            counter = Counter(Value(INT, self.origin()), *limits, step)
        after = self.block(inside, around) if counted else None
        here.after = after
        turn_known = [*inside, counter.index] if counter else inside
        if counted or here.tests_last:
            turn = self.block(turn_known, [*around, here])
        else:
            turn = self.tested(turn_known, around, here)
        blocks = (turn, after) if after else (turn,)
        loop = Loop(label, tuple(parameters), tuple(arguments), blocks, counter, self.origin())
        return self.ended(builder, loop)

    def tested(self, known: list[Value], around: list[Around], here: Around) -> Block:
        """A turn that begins with the test whether there is another."""
        builder = Builder(Sizes())
        zero = self.number(builder, 0)
        (test,) = builder.call(toy.OPS["greater"], (here.fuel, zero), self.origin())
        here.after = self.block(known, around)
        blocks = (self.block(known, [*around, here]), here.after)
        return self.ended(builder, Branch(test, "bool", (True, False), blocks, self.origin()))

    def break_(self, builder: Builder, known: list[Value], here: Around) -> Block:
        """What follows the last turn, with other values for the loop's parameters."""
        pairs = [(p, self.pick(builder, known, p.type)) for p in here.parameters]
        copied = self.copied(here.after, dict(pairs))
        return replace(copied, nodes=(*builder.nodes, *copied.nodes))

    def copied(self, block: Block, stands: dict) -> Block:
        """A block once more, with other values for some."""

        def now(value):
            return stands.get(value, value)

        self.budget -= 1
        nodes = []
        for node in block.nodes:
            node = with_operands(node, now)
            stands.update((r, Value(r.type, r.origin)) for r in node.results)
            match node:
                case Constant():
                    node = replace(node, result=now(node.result))
                case Call():
                    node = replace(node, results=tuple(map(now, node.results)))
                case Branch():
                    node = replace(node, blocks=tuple(self.copied(b, stands) for b in node.blocks))
                case Loop():
                    self.labels += 1
                    stands[node.label] = f"L{self.labels}"
                    counter = node.counter
                    node = replace(
                        node,
                        label=now(node.label),
                        parameters=tuple(map(now, node.parameters)),
                        counter=counter and replace(counter, index=now(counter.index)),
                        blocks=tuple(self.copied(b, stands) for b in node.blocks),
                    )
                case Again():
                    node = replace(node, label=now(node.label))
            nodes.append(node)
        return replace(block, nodes=tuple(nodes), outputs=tuple(map(now, block.outputs)))

    def again(self, builder: Builder, known: list[Value], around: list[Around]) -> Block:
        """The next turn of a loop around, mostly of the innermost."""
        at = -1 if self.random.random() < 0.7 else self.random.randrange(len(around))
        here = around[at]
        arguments = []
        for parameter in here.parameters:
            if parameter is here.fuel:
                less = builder.call(toy.OPS["sub"], (here.fuel, self.number(builder, 1)))[0]
                arguments.append(less)
            else:
                arguments.append(self.pick(builder, known, parameter.type))
        again = Again(here.label, tuple(arguments), self.origin())
        if here.fuel is None or not here.tests_last:
            return self.ended(builder, again)
        (test,) = builder.call(toy.OPS["greater"], (arguments[-1], self.number(builder, 0)))
        left = self.block(known, around[: around.index(here)])
        blocks = (Block((again,)), left)
        return self.ended(builder, Branch(test, "bool", (True, False), blocks, self.origin()))
