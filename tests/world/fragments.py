"""Pieces of programs: each has state, statements that read or change it, and edits of that state.

`TEXT` holds them: ``== name``, what makes the state, ``--``, statements on ``y`` (an array of three,
as is the argument ``x``), ``--``, one edit a line (``\\n`` in an edit is a new line). `~` is a number
of this piece in its program, ``$n`` a float, ``$p`` a positive one, ``$i`` 0 to 3, ``$b`` a truth
value, ``$v`` a number of any type, ``$a`` an array; PKG is a package that is installed for the copy
of the program, ENV a name in `os.environ`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fragment:
    name: str
    setup: str
    body: str
    edits: tuple[str, ...]


def parsed(text: str) -> dict[str, Fragment]:
    found = {}
    for part in text.split("\n== ")[1:]:
        name, rest = part.split("\n", 1)
        setup, body, edits = (f"\n{rest}\n".split("\n--\n") + [""])[:3]
        lines = tuple(line.strip() for line in edits.splitlines() if line.strip())
        assert name not in found, name
        found[name] = Fragment(name, setup.strip("\n"), body.strip("\n"), lines)
    return found


TEXT = r"""
== attr_number
O~ = NS(a=2.0)
--
y = y * O~.a
--
O~.a = $v
O~.a = $n
O~.a = $n
O~.a = $a
== attr_two_numbers_compared
O~ = NS(a=2.0, b=1.0)
--
y = y * O~.a if O~.a > O~.b else y + O~.b
--
O~.a = $n
O~.b = $n
O~.a = O~.b
== attr_absent_getattr
O~ = NS()
--
y = y * getattr(O~, 'bias', 1.0)
--
O~.bias = $n
vars(O~).pop('bias', None)
O~.bias = $v
== attr_absent_hasattr
O~ = NS(k=2.0)
--
if hasattr(O~, 'extra'):
    y = y * O~.extra
if not hasattr(O~, 'k'):
    y = y - 1.0
--
O~.extra = $n
vars(O~).pop('extra', None)
vars(O~).pop('k', None)
O~.k = $n
== attr_absent_try
O~ = NS()
--
try:
    y = y * O~.k
except AttributeError:
    y = y + 0.5
--
O~.k = $n
vars(O~).pop('k', None)
== class_attr
class B~:
    k = 1.5
class C~(B~):
    pass
O~ = C~()
--
y = y * O~.k
--
C~.k = $n
B~.k = $n
O~.k = $n
O~.__dict__.pop('k', None)
if 'k' in vars(C~): del C~.k
== class_attr_absent
class B~: pass
class C~(B~): pass
O~ = C~()
--
y = y * getattr(O~, 'k', 2.0) + getattr(C~, 'j', 0.0)
--
C~.k = $n
B~.k = $n
B~.j = $n
O~.k = $n
if 'k' in vars(C~): del C~.k
if 'j' in vars(B~): del B~.j
== slots
class C~:
    __slots__ = ('a', 'b')
    def __init__(self): self.a = 2.0
O~ = C~()
--
y = y * O~.a + getattr(O~, 'b', 0.0)
--
O~.a = $v
O~.b = $n
if hasattr(O~, 'b'): del O~.b
== dataclass
@dataclasses.dataclass
class C~:
    rate: float = 0.5
    mode: str = 'sum'
    items: list = dataclasses.field(default_factory=lambda: [1.0, 2.0])
O~ = C~()
--
for v in O~.items:
    y = y + v * O~.rate if O~.mode == 'sum' else y * v
--
O~.rate = $n
O~.mode = 'prod'
O~.mode = 'sum'
O~.items.append($n)
O~.items = [$n]
O~ = C~($n)
O~ = dataclasses.replace(O~, rate=$n)
== dataclass_frozen
@dataclasses.dataclass(frozen=True)
class C~:
    rate: float = 0.5
O~ = C~()
--
y = y * dataclasses.replace(O~, rate=O~.rate + 1.0).rate
if O~ == C~():
    y = y + 1.0
--
object.__setattr__(O~, 'rate', $n)
O~ = C~($n)
C~.rate = $n
O~ = C~(0.5)
== dataclass_compare
@dataclasses.dataclass(order=True)
class C~:
    a: float = 1.0
    b: float = 2.0
O~, P~ = C~(), C~()
--
y = y * 2.0 if O~ == P~ else y * 3.0
y = y - 1.0 if O~ < P~ else y
y = y * dataclasses.asdict(O~)['a'] + sum(dataclasses.astuple(P~))
--
O~.a = $n
P~.b = $n
P~.b = 2.0; O~.a = 1.0
C~.__eq__ = lambda s, o: False
== namedtuple
T~ = collections.namedtuple('T~', 'a b')
O~ = NS(t=T~(1.5, [1.0]))
--
a, b = O~.t
y = y * a + b[0] + O~.t.a + O~.t._replace(a=2.0).a
--
O~.t = T~($n, [2.0])
O~.t.b[0] = $n
O~.t = O~.t._replace(a=$n)
T~.a = property(lambda s: $n)
== module_attr
M~ = types.ModuleType('m~'); M~.k = 2.0; M~.f = lambda y: y + 1.0
--
y = M~.f(y) * M~.k
--
M~.k = $n
M~.f = lambda y: y * $n
M~.f = np.sin
== module_absent
M~ = types.ModuleType('m~')
--
y = y * getattr(M~, 'k', 2.0)
--
M~.k = $n
vars(M~).pop('k', None)
M~.__getattr__ = lambda name: $n
== module_getattr
M~ = types.ModuleType('m~'); M~.table = {'k': 2.0}; M~.__getattr__ = lambda name: M~.table[name]
--
y = y * M~.k
--
M~.table['k'] = $n
M~.k = $n
M~.__getattr__ = lambda name: $n
== package_attr
import PKG
--
y = PKG.act(y) * PKG.RATE
--
PKG.RATE = $n
PKG.act = np.cos
PKG.act = lambda y: y * $n
== package_function
import PKG.sub
--
y = PKG.sub.layer(y)
--
PKG.sub.SCALE = $n
PKG.sub.helper = lambda y: y * $n
PKG.sub.layer.__defaults__ = ($n,)
PKG.sub.TABLE['k'] = $n
PKG.sub.layer = lambda y: y - $n
== package_import_inside
import PKG.sub
--
import PKG.sub as p
from PKG import RATE
y = y * RATE + p.SCALE
--
PKG.RATE = $n
PKG.sub.SCALE = $n
PKG.sub = NS(SCALE=$n)
sys.modules['PKG.sub'].SCALE = $n
== package_class
import PKG
O~ = PKG.Model()
--
y = O~(y)
--
O~.k = $n
PKG.Model.gain = $n
PKG.Model.__call__ = lambda self, y: y * $n
PKG.Model.act = staticmethod(np.sin)
O~ = PKG.Model()
== package_absent
import PKG
--
y = y * getattr(PKG, 'MISSING', 1.5)
try:
    import PKG.absent
except ImportError:
    y = y + 1.0
--
PKG.MISSING = $n
vars(PKG).pop('MISSING', None)
sys.modules['PKG.absent'] = types.ModuleType('PKG.absent')
sys.modules.pop('PKG.absent', None)
== package_counter
import PKG
--
y = PKG.counted(y)
--
PKG.COUNT = 0
PKG.COUNT = $i
== package_rewritten
import PKG.sub
--
y = y * PKG.sub.SCALE
--
importlib.reload(PKG.sub)
PKG.sub.SCALE = $n
== dict_get_absent
D~ = {'a': 1.5}
--
y = y * D~.get('k', 2.0) + D~.get('a')
if 'z' in D~: y = -y
--
D~['k'] = $n
D~.pop('k', None)
D~['z'] = 1
D~.pop('z', None)
D~['a'] = $n
D~.update(k=$n)
== dict_iterate
D~ = {'a': 1.5, 'b': 0.5}
--
for k, v in D~.items():
    y = y * v if k < 'b' else y + v
--
D~['c'] = $n
D~['a'] = $n
D~.pop('b', None)
D~ = dict(reversed(D~.items()))
D~.clear()
== dict_values_sum
D~ = {'a': 1.5, 'b': 0.5}
--
y = y * sum(D~.values()) + len(D~)
--
D~['c'] = $n
D~['a'] = $n
D~.pop('c', None)
== dict_len_bool
D~ = {}
--
y = y * 2.0 if D~ else y * 3.0
y = y + len(D~)
--
D~['a'] = 1
D~.clear()
D~[$i] = 2
== dict_unpack
D~ = {'a': 1.5, 'b': 0.5}
def g~(y, a=1.0, b=1.0, **rest): return y * a + b + len(rest)
--
y = g~(y, **D~)
--
D~['a'] = $n
D~.pop('b', None)
D~['c'] = $n
D~['b'] = $n
== dict_merge
D~ = {'a': 1.5}; E~ = {'b': 1.0}
--
m = {**D~, **E~}
n = D~ | E~
y = y * m['b'] + n.get('a', 0.0) + len(m)
--
D~['b'] = $n
E~['b'] = $n
E~['a'] = $n
D~['z~'] = 1
D~.pop('a', None)
== dict_compare
D~ = {'a': 1.5}; E~ = {'a': 1.5}
--
y = y * 2.0 if D~ == E~ else y
--
D~['a'] = $n
E~['a'] = D~['a']
D~.clear(); E~.clear()
D~ = E~
== dict_keys_ops
D~ = {'a': 1.5, 'b': 2.0}
--
ks = sorted(D~)
first = next(iter(D~))
best = max(D~, key=D~.get)
y = y * D~[ks[0]] + D~[first] - D~[best] * len(D~.keys() & {'a', 'c'})
y = y + len(','.join(D~)) + len(list(reversed(D~)))
--
D~['c'] = $n
D~['a'] = $n
D~['b'] = $n
D~.pop('c', None)
D~ = {'b': $n, 'a': $n}
== dict_comprehension
D~ = {'a': 1.5, 'b': 2.0}
--
y = y * {k: v * 2.0 for k, v in D~.items() if v > 0.0}.get('a', 3.0)
y = y + dict(zip(D~.keys(), D~.values())).get('b', 0.0)
--
D~['a'] = $n
D~['b'] = $n
D~.pop('b', None)
== dict_setdefault
D~ = {}
--
y = y * D~.setdefault('k', 2.0)
--
D~['k'] = $n
D~.clear()
== dict_pop
D~ = {'k': 2.0}
--
y = y * D~.pop('k', 3.0)
--
D~['k'] = $n
D~['k'] = $n
== dict_update_effect
D~ = {}
--
D~.update(a=1.0, n=D~.get('n', 0) + 1)
D~['last'] = len(D~)
y = y * D~['n']
--
D~.clear()
D~['n'] = $i
== dict_del
D~ = {'a': 1.0}
--
if 'a' in D~:
    del D~['a']
    y = y * 2.0
--
D~['a'] = $n
== dict_str
D~ = {'a': 1}; L~ = ['p']
--
y = y * len(f'{D~}') + len(str(L~)) + len('%s' % D~) + len(repr(L~))
--
D~['a'] = 10 ** $i
L~.append('q')
D~['b'] = 2
L~.clear()
== dict_missing
class K~(dict):
    def __missing__(self, k): return 2.0
D~ = K~()
--
y = y * D~['k'] + D~.get('k', 1.0)
--
D~['k'] = $n
D~.pop('k', None)
K~.__missing__ = lambda s, k: $n
K~.__getitem__ = lambda s, k: $n
== defaultdict
D~ = collections.defaultdict(lambda: 2.0)
--
y = y * D~['k'] + len(D~)
--
D~['k'] = $n
D~.pop('k', None)
D~.default_factory = lambda: $n
== counter
D~ = collections.Counter('aab')
--
D~['z'] += 1
y = y * D~['a'] + D~['missing'] + D~.most_common(1)[0][1]
--
D~['a'] = $i
D~['missing'] = $i
D~.update('bbb')
== ordered_dict
D~ = collections.OrderedDict(a=1.0, b=2.0)
--
y = y * next(iter(D~.values())) + list(D~).index('a')
--
D~.move_to_end('a')
D~['a'] = $n
D~['b'] = $n
== chain_map
D~ = {'a': 1.0}; E~ = {'a': 3.0, 'b': 2.0}; M~ = collections.ChainMap(D~, E~)
--
y = y * M~['a'] + M~['b'] * len(M~)
--
D~['b'] = $n
E~['b'] = $n
D~.pop('a', None)
M~['a'] = $n
M~.maps.insert(0, {'a': $n})
== mapping_proxy
D~ = {'a': 1.0}; M~ = types.MappingProxyType(D~)
--
y = y * M~['a'] + M~.get('b', 0.5) + len(M~)
--
D~['a'] = $n
D~['b'] = $n
D~.pop('b', None)
== list_index
L~ = [1.0, 2.0, 3.0]
--
y = y * L~[0] + L~[-1]
--
L~[0] = $n
L~.append($n)
L~.insert(0, $n)
L~[-1] = $v
== list_iterate
L~ = [1.0, 2.0]
--
for v in L~:
    y = y * v
for i, v in enumerate(L~, 1):
    y = y + i * v
--
L~.append($n)
L~[0] = $n
L~.pop() if len(L~) > 1 else None
L~.reverse()
== list_functions
L~ = [1.0, 2.0]
--
y = y * sum(L~) + max(L~) - min(L~) + len(L~) + sorted(L~)[0] + math.prod(L~) + math.fsum(L~)
--
L~.append($n)
L~[0] = $n
L~[:] = [$n, $n]
== list_numpy
L~ = [1.0, 2.0, 0.5]
--
y = y * np.array(L~) + np.sum(L~) + np.mean(L~) + np.array([L~, L~])[1] + np.max(L~)
--
L~[0] = $n
L~[1] = $n
L~[:] = [$n, $n, $n]
L~[0] = $i
== list_multiplied_by_numpy
L~ = [1.0, 2.0, 0.5]; T~ = NS(t=(1.0, 2.0, 3.0))
--
y = y * L~ + T~.t
--
L~[0] = $n
T~.t = ($n, 1.0, 2.0)
L~[2] = $i
== list_concat
L~ = [1.0]; K~ = [2.0]
--
a = L~ + K~
b = [*L~, *K~, 3.0]
c = L~ * 2
y = y * a[-1] + len(a) + b[0] * len(c) + sum(b)
--
L~.append($n)
K~.append($n)
L~[0] = $n
== list_slice
L~ = [1.0, 2.0, 3.0, 4.0]
--
a, *b = L~
y = y * sum(L~[1:]) + sum(L~[::-2]) + a + len(b)
--
L~.append($n)
L~[2] = $n
del L~[1:2]
L~.insert(0, $n)
== list_contains
L~ = [1.0, 2.0]
--
if 2.0 in L~: y = y * 3.0
if L~.count(1.0) > 1: y = y + 1.0
try:
    y = y + L~.index(5.0)
except ValueError:
    pass
--
L~.append(5.0)
L~.remove(2.0) if 2.0 in L~ else None
L~.append(1.0)
L~[0] = 5.0
== list_compare
L~ = [1.0, 2.0]; K~ = [1.0, 2.0]
--
y = y * 2.0 if L~ == K~ else y
y = y + 1.0 if L~ < K~ else y
y = y - 2.0 if L~ is K~ else y
--
L~[0] = $n
K~[1] = $n
L~ = K~
L~ = list(K~)
== list_truth
L~ = [0.0, 1.0]; N~ = []
--
y = y * 2.0 if all(L~) else y
y = y + 1.0 if any(L~) else y
y = y - 3.0 if N~ else y
y = y * 4.0 if not L~ else y
--
L~[0] = $i
L~[1] = 0
N~.append(1)
N~.clear()
== list_functional
L~ = [1.0, 2.0, -1.0]
--
y = y * functools.reduce(lambda a, b: a + b, L~) + sum(map(abs, L~)) + len(list(filter(None, L~)))
y = y + sum(a * b for a, b in zip(L~, L~[1:])) + list(itertools.accumulate(L~))[-1]
y = y + sum(itertools.chain(L~, [1.0])) + next(iter(L~)) + list(reversed(L~))[0]
--
L~.append($n)
L~[0] = $n
L~.pop() if len(L~) > 2 else None
L~[0] = 0.0
== list_sorted_key
L~ = [NS(k=1.0, v=2.0), NS(k=2.0, v=5.0)]
--
for o in sorted(L~, key=lambda o: o.k):
    y = y * o.v + 1.0
y = y + max(L~, key=operator.attrgetter('k')).v
--
L~[0].k = $n
L~[1].v = $n
L~.append(NS(k=$n, v=$n))
L~[1].k = $n
== list_sort_effect
L~ = [3.0, 1.0, 2.0]
--
L~.sort()
y = y * L~[0]
--
L~.append($n)
L~.insert(0, $n)
L~.reverse()
== list_append_const
L~ = []
--
L~.append(1.0)
y = y + 1.0
--
L~.clear()
L~.append($n)
== list_append_len
L~ = []
--
L~.append(len(L~))
y = y * len(L~)
--
L~.clear()
L~.append($n)
== list_append_traced
L~ = []
--
L~.append(y * 2.0)
y = y + 1.0
--
L~.clear()
== list_append_traced_read
L~ = [np.ones(3)]
--
y = y + L~[-1]
L~.append(y * 0.5)
--
L~[:] = [$a]
L~[-1] = $a
L~[-1][0] = $n
== list_append_float
L~ = []
--
L~.append(float(x.sum()))
y = y * 2.0
--
L~.clear()
== list_extend_effect
L~ = [1.0]
--
L~ += [2.0]
L~.extend((3.0, 4.0))
y = y * len(L~)
--
del L~[1:]
== list_pop_effect
L~ = [1.0, 2.0, 3.0]
--
y = y * (L~.pop() if L~ else 0.5)
--
L~.append($n)
L~.extend([$n, $n])
== list_insert_window
L~ = [1.0, 2.0]
--
L~.insert(0, L~.pop())
y = y * L~[0]
--
L~.append($n)
L~[0] = $n
== list_subclass
class K~(list):
    def __getitem__(self, i): return super().__getitem__(i) * 2.0
L~ = K~([1.0, 2.0])
--
y = y * L~[0] + sum(L~)
--
L~[0] = $n
K~.__getitem__ = lambda s, i: $n
K~.__iter__ = lambda s: iter([$n])
L~.append($n)
== tuple_nested
O~ = NS(t=(1.0, ({'k': 2.0}, [3.0])))
--
y = y * O~.t[1][0]['k'] + O~.t[1][1][0] + O~.t[0]
--
O~.t[1][0]['k'] = $n
O~.t[1][1][0] = $n
O~.t = ($n, O~.t[1])
== set_contains
S~ = {'a', 'b'}
--
if 'a' in S~: y = y * 2.0
y = y + len(S~)
if S~ & {'c'}: y = y - 1.0
if S~ >= {'a', 'b'}: y = y * 0.5
--
S~.add('c')
S~.discard('a')
S~.add('a')
S~.clear()
== set_sorted
S~ = {1.0, 2.0}
--
for v in sorted(S~): y = y * v + 1.0
y = y + sum(S~) + len(S~ | {5.0}) + len(frozenset(S~))
--
S~.add($n)
S~.discard(1.0)
S~ ^= {3.0}
== set_effect
S~ = set()
--
S~.add(len(S~))
S~ |= {'z'}
y = y * len(S~)
--
S~.clear()
S~.add($n)
== set_of_objects
class C~:
    def __init__(self, k): self.k = k
    def __eq__(self, o): return self.k == o.k
    def __hash__(self): return hash(self.k)
S~ = {C~(1.0)}; O~ = C~(1.0)
--
y = y * 2.0 if O~ in S~ else y
y = y + 1.0 if C~(3.0) in S~ else y
--
O~.k = $n
O~.k = 1.0
S~.add(C~(3.0))
C~.__eq__ = lambda s, o: False
== deque_window
L~ = collections.deque([1.0, 2.0], maxlen=3)
--
L~.append(len(L~) * 1.0)
y = y * sum(L~) + L~[0]
--
L~.appendleft($n)
L~.clear()
L~.rotate(1)
L~.append($n)
== deque_read
L~ = collections.deque([1.0, 2.0])
--
y = y * L~[0] + len(L~) + max(L~) + sum(L~)
for v in L~: y = y + v
--
L~.append($n)
L~[0] = $n
L~.popleft() if len(L~) > 1 else None
== heap_effect
L~ = [3.0, 5.0]
--
heapq.heappush(L~, 4.0)
y = y * heapq.heappop(L~)
--
heapq.heappush(L~, $n)
L~[0] = $n
== bisect_read
L~ = [1.0, 2.0, 3.0]
--
y = y * bisect.bisect(L~, 1.5)
--
L~.insert(0, 0.5)
L~[0] = $n
bisect.insort(L~, $n)
== bytearray_state
L~ = bytearray(b'abc'); A~ = array.array('d', [1.0, 2.0])
--
y = y * L~[0] + A~[0] + len(A~) + sum(A~)
--
L~[0] = 65 + $i
A~[0] = $n
A~.append($n)
== str_state
O~ = NS(s='left', b=b'x')
--
if O~.s.startswith('l'): y = y * 2.0
y = y + len(O~.s.upper() + O~.s) + len(O~.b)
if O~.s == 'right': y = -y
--
O~.s = 'right'
O~.s = 'left'
O~.b = b'xyz'
O~.s = 'l' * $i
== method_patched
class C~:
    k = 2.0
    def m(self, y): return y * self.k
    @staticmethod
    def s(y): return y + 1.0
    @classmethod
    def c(cls, y): return y - cls.k
O~ = C~()
--
y = O~.c(O~.s(O~.m(y)))
--
C~.m = lambda self, y: y * $n
O~.m = lambda y: y + $n
vars(O~).pop('m', None)
C~.s = staticmethod(lambda y: y * $n)
C~.c = classmethod(lambda cls, y: y + $n)
C~.k = $n
O~.k = $n
== class_assignment
class A~:
    k = 1.0
    def m(self, y): return y * 2.0
class B~:
    k = 3.0
    def m(self, y): return y + 2.0
O~ = A~()
--
y = O~.m(y) * O~.k
if isinstance(O~, A~): y = y + 1.0
if type(O~) is B~: y = y - 5.0
--
O~.__class__ = B~
O~.__class__ = A~
O~ = B~()
B~.k = $n
A~.m = B~.m
== class_bases
class P~:
    k = 1.0
    def m(self, y): return y * 2.0
class Q~:
    k = 2.0
    def m(self, y): return y + 2.0
class A~(P~): pass
O~ = A~()
--
y = O~.m(y) * O~.k
if issubclass(A~, Q~): y = -y
--
A~.__bases__ = (Q~,)
A~.__bases__ = (P~,)
A~.__bases__ = (Q~, P~)
P~.m = Q~.m
Q~.k = $n
== super_chain
class A~:
    def m(self, y): return y * 2.0
class B~(A~):
    def m(self, y): return super().m(y) + 1.0
class D~(A~):
    def m(self, y): return super().m(y) * 3.0
class E~(B~, D~): pass
O~ = E~()
--
y = O~.m(y)
--
A~.m = lambda s, y: y * $n
D~.m = lambda s, y: y + $n
E~.__bases__ = (D~, B~)
B~.m = lambda s, y: y - $n
== property_read
class C~:
    def __init__(self): self._k = 2.0
    @property
    def k(self): return self._k * 1.5
O~ = C~()
--
y = y * O~.k
--
O~._k = $n
C~.k = property(lambda s: $n)
C~.k = $n
== property_setter
class C~:
    def __init__(self): self._k = 2.0; self.log = []
    @property
    def k(self): return self._k
    @k.setter
    def k(self, v): self._k = v; self.log.append(v)
O~ = C~()
--
O~.k = O~.k + 1.0
y = y * O~.k
--
O~.k = $n
O~._k = $n
O~.log.clear()
== cached_property
class C~:
    def __init__(self): self.raw = 2.0
    @functools.cached_property
    def k(self): return self.raw * 1.5
O~ = C~()
--
y = y * O~.k
--
O~.raw = $n
vars(O~).pop('k', None)
O~.k = $n
O~ = C~()
== metaclass_property
class M~(type):
    @property
    def level(cls): return cls.base * 2.0
    def __len__(cls): return 3
class C~(metaclass=M~): base = 1.0
--
y = y * C~.level + len(C~)
--
C~.base = $n
M~.level = property(lambda c: $n)
M~.__len__ = lambda c: $i
== metaclass_call
class M~(type):
    def __call__(cls, *a): return super().__call__(*a)
class C~(metaclass=M~):
    def __init__(self, k): self.k = k
--
y = y * C~(2.0).k
--
M~.__call__ = lambda c, k: NS(k=$n)
C~.__init__ = lambda s, k: setattr(s, 'k', $n)
C~.__new__ = lambda c, k: object.__new__(c)
== metaclass_checks
class M~(type):
    def __instancecheck__(cls, o): return o.kind == 'a'
class C~(metaclass=M~): pass
O~ = NS(kind='a')
--
if isinstance(O~, C~): y = y * 2.0
--
O~.kind = 'b'
O~.kind = 'a'
M~.__instancecheck__ = lambda c, o: $b
== getattr_hook
class C~:
    def __init__(self): self.t = {'k': 2.0}
    def __getattr__(self, name): return self.t[name]
O~ = C~()
--
y = y * O~.k
--
O~.t['k'] = $n
O~.k = $n
vars(O~).pop('k', None)
C~.k = $n
C~.__getattr__ = lambda s, n: $n
if 'k' in vars(C~): del C~.k
== getattribute_hook
class C~:
    k = 2.0
    def __getattribute__(self, name): return object.__getattribute__(self, name)
O~ = C~()
--
y = y * O~.k
--
C~.__getattribute__ = lambda s, n: $n
C~.k = $n
if '__getattribute__' in vars(C~): del C~.__getattribute__
== getattribute_added
class C~:
    def __init__(self): self.k = 2.0
O~ = C~()
--
y = y * O~.k
--
C~.__getattribute__ = lambda s, n: $n
if '__getattribute__' in vars(C~): del C~.__getattribute__
C~.k = property(lambda s: $n)
if 'k' in vars(C~): del C~.k
vars(O~)['k'] = $n
== setattr_hook
class C~:
    def __setattr__(self, n, v): object.__setattr__(self, n, v * 2)
O~ = C~()
--
O~.k = 1.0
y = y * O~.k
--
C~.__setattr__ = lambda s, n, v: object.__setattr__(s, n, $n)
object.__setattr__(O~, 'k', 5.0)
if '__setattr__' in vars(C~): del C~.__setattr__
== call_hook
class C~:
    k = 2.0
    def __call__(self, y): return y * self.k
O~ = C~()
--
y = O~(y)
--
C~.__call__ = lambda s, y: y + $n
O~.k = $n
O~.__call__ = lambda y: y * 100.0
== descriptor
class D~:
    def __init__(self): self.f = 2.0
    def __get__(self, o, t): return o.raw * self.f
    def __set__(self, o, v): o.raw = v
class C~:
    k = D~()
    def __init__(self): self.raw = 1.0
O~ = C~()
--
y = y * O~.k
O~.k = 0.5
--
O~.raw = $n
vars(C~)['k'].f = $n
D~.__get__ = lambda s, o, t: $n
vars(O~)['k'] = 9.0
== descriptor_non_data
class D~:
    def __get__(self, o, t): return 2.0
class C~: k = D~()
O~ = C~()
--
y = y * O~.k
--
O~.k = $n
D~.__set__ = lambda s, o, v: None
vars(O~).pop('k', None)
D~.__get__ = lambda s, o, t: $n
== operators_of_inner
class V~:
    def __init__(self, a): self.a = a
    def __mul__(self, y): return y * self.a
    def __rmul__(self, y): return y * self.a
    def __add__(self, o): return V~(self.a + o)
    def __neg__(self): return V~(-self.a)
    def __matmul__(self, o): return o
    def __abs__(self): return abs(self.a)
--
v = V~(2.0)
y = v * y
y = (-(v + 1.0)) * y + abs(v)
y = v @ y
--
V~.__mul__ = lambda s, y: y * $n
V~.__add__ = lambda s, o: V~($n)
V~.__neg__ = lambda s: V~($n)
V~.__matmul__ = lambda s, o: o + $n
V~.__abs__ = lambda s: $n
V~.__init__ = lambda s, a: setattr(s, 'a', $n)
== operators_reflected
class V~:
    def __init__(self, a): self.a = a
    def __radd__(self, o): return o + self.a
    def __rsub__(self, o): return o * self.a
class W~(V~): pass
--
y = y * (1.0 + V~(2.0)) + (3.0 - W~(0.5))
--
V~.__radd__ = lambda s, o: $n
W~.__radd__ = lambda s, o: $n
V~.__rsub__ = lambda s, o: $n
float_ = 1.0
W~.__rsub__ = lambda s, o: $n
== inplace_operator
class V~:
    def __init__(self, a): self.a = a
    def __add__(self, o): return V~(self.a + o)
O~ = NS(v=V~(1.0))
--
O~.v += 1.0
y = y * O~.v.a
--
V~.__iadd__ = lambda s, o: V~($n)
O~.v = V~($n)
O~.v.a = $n
if '__iadd__' in vars(V~): del V~.__iadd__
== protocols_of_inner
class V~:
    def __len__(self): return 2
    def __bool__(self): return True
    def __eq__(self, o): return True
    def __contains__(self, o): return True
    def __iter__(self): return iter([1.0, 2.0])
    def __getitem__(self, i): return 1.5
    __hash__ = None
--
v = V~()
y = y * len(v) if v else y + 1.0
y = y + 2.0 if v == 3 else y
y = y - 1.0 if 5 in v else y
for a in v: y = y * a
y = y + v[0]
--
V~.__len__ = lambda s: $i
V~.__bool__ = lambda s: $b
V~.__eq__ = lambda s, o: $b
V~.__contains__ = lambda s, o: $b
V~.__iter__ = lambda s: iter([$n])
V~.__getitem__ = lambda s, i: $n
== protocols_absent
class V~: pass
--
v = V~()
y = y * 2.0 if v else y + 1.0
y = y + 2.0 if v == 3 else y
y = y - 1.0 if not v else y
--
V~.__len__ = lambda s: $i
V~.__bool__ = lambda s: $b
V~.__eq__ = lambda s, o: $b
if '__bool__' in vars(V~): del V~.__bool__
== conversions
class V~:
    def __float__(self): return 2.0
    def __int__(self): return 2
    def __index__(self): return 1
    def __str__(self): return 'abc'
    def __format__(self, s): return 'abcd'
    def __hash__(self): return 5
    def __round__(self, n=None): return 2.0
V0~ = V~()
--
y = y * float(V0~) + int(V0~) + y[V0~] + len(str(V0~)) + len(f'{V0~:x}') + hash(V0~) + round(V0~)
y = y + math.sqrt(V0~) + [1.0, 2.0][V0~]
--
V~.__float__ = lambda s: $p
V~.__int__ = lambda s: $i
V~.__index__ = lambda s: 0
V~.__str__ = lambda s: 'x' * $i
V~.__format__ = lambda s, f: 'x' * $i
V~.__hash__ = lambda s: $i
== comparisons
class V~:
    def __init__(self, a): self.a = a
    def __lt__(self, o): return self.a < o.a
L~ = [V~(1.0), V~(2.0)]
--
y = y * sorted(L~)[0].a + min(L~).a + max(L~).a
if L~[0] < L~[1]: y = y + 1.0
--
L~[0].a = $n
V~.__lt__ = lambda s, o: s.a > o.a
V~.__gt__ = lambda s, o: $b
L~.append(V~($n))
== total_ordering
@functools.total_ordering
class V~:
    def __init__(self, a): self.a = a
    def __lt__(self, o): return self.a < o.a
    def __eq__(self, o): return self.a == o.a
O~, P~ = V~(1.0), V~(2.0)
--
if O~ >= P~: y = y * 2.0
if O~ != P~: y = y + 1.0
--
O~.a = $n
P~.a = $n
O~.a = P~.a
V~.__lt__ = lambda s, o: $b
== array_hook
class V~:
    def __init__(self): self.a = np.array([1.0, 2.0, 3.0])
    def __array__(self, dtype=None, copy=None): return self.a
O~ = V~()
--
y = y * np.asarray(O~) + np.sum(O~)
--
O~.a = $a
O~.a[0] = $n
V~.__array__ = lambda s, dtype=None, copy=None: $a
== enter_hook
class V~:
    def __enter__(self): return 2.0
    def __exit__(self, *a): return False
--
with V~() as k:
    y = y * k
--
V~.__enter__ = lambda s: $n
V~.__exit__ = lambda s, *a: True
== exit_suppress
class V~:
    quiet = True
    def __enter__(self): return self
    def __exit__(self, *a): return self.quiet
--
with V~():
    y = y * 2.0
    raise ValueError('inside')
y = y + 1.0
--
V~.quiet = $b
V~.__exit__ = lambda s, *a: True
V~.quiet = True
== context_stack
class V~:
    stack = []
    def __init__(self, k): self.k = k
    def __enter__(self): self.stack.append(self.k); return self
    def __exit__(self, *a): self.stack.pop()
def now~(): return V~.stack[-1] if V~.stack else 1.0
--
with V~(3.0):
    y = y * now~()
y = y + now~()
--
V~.stack.append($n)
V~.stack = []
V~.stack = [$n]
== contextmanager
O~ = NS(k=2.0, depth=0)
@contextlib.contextmanager
def scaled~(k):
    old, O~.k = O~.k, k
    try:
        yield old
    finally:
        O~.k = old
--
with scaled~(3.0) as old:
    y = y * O~.k + old
y = y * O~.k
--
O~.k = $n
O~.k = $n
== contextlib_things
O~ = NS(d={}, k=2.0)
--
with contextlib.suppress(KeyError):
    y = y * O~.d['k']
    y = y + 1.0
with contextlib.ExitStack() as st:
    st.callback(lambda: None)
    y = y * O~.k
with contextlib.nullcontext(O~.k) as k:
    y = y - k
--
O~.d['k'] = $n
O~.d.pop('k', None)
O~.k = $n
== exit_stack_effect
L~ = []
--
with contextlib.ExitStack() as st:
    st.callback(L~.append, 'done')
    y = y * 2.0
--
L~.clear()
== function_code
def g~(y): return y * 2.0
def h~(y): return y + 7.0
--
y = g~(y)
--
g~.__code__ = h~.__code__
g~.__code__ = (lambda y: y * $n).__code__
g~ = lambda y: y - $n
== function_defaults
def g~(y, a=2.0, *, b=1.0): return y * a + b
--
y = g~(y)
--
g~.__defaults__ = ($n,)
g~.__kwdefaults__ = {'b': $n}
g~.__kwdefaults__['b'] = $n
g~.__defaults__ = ($a,)
== function_mutable_default
def g~(y, log=[]):
    log.append(1)
    return y * len(log)
--
y = g~(y)
--
g~.__defaults__[0].clear()
g~.__defaults__ = ([1, 2],)
== function_attribute
def g~(y):
    g~.calls = getattr(g~, 'calls', 0) + 1
    return y * getattr(g~, 'k', 1.5)
--
y = g~(y)
--
g~.k = $n
vars(g~).pop('k', None)
g~.calls = 0
== function_cells
def make~(k):
    c = [1.0]
    def g(y): return y * k + c[0]
    def put(v):
        nonlocal k
        k = v
    return g, put
g~, put~ = make~(2.0)
--
y = g~(y)
--
put~($n)
g~.__closure__[0].cell_contents[0] = $n
g~.__closure__[1].cell_contents = $n
put~($a)
== nonlocal_counter
def make~():
    n = 0
    def g(y):
        nonlocal n
        n += 1
        return y * n
    return g
g~ = make~()
--
y = g~(y)
--
g~.__closure__[0].cell_contents = $i
g~ = make~()
== cell_deleted
def make~():
    k = 2.0
    def g(y):
        try:
            return y * k
        except NameError:
            return y + 1.0
    return g
g~ = make~()
--
y = g~(y)
--
del g~.__closure__[0].cell_contents
g~.__closure__[0].cell_contents = $n
== lambda_table
D~ = {'a': lambda y: y * 2.0, 'b': np.sin}; O~ = NS(k='a')
--
y = D~[O~.k](y)
--
O~.k = 'b'
O~.k = 'a'
D~['a'] = lambda y: y * $n
D~['b'] = np.tanh
== partial
D~ = {'k': 1.0}
def g~(y, a, d=None, b=1.0): return y * a + b * d['k']
p~ = functools.partial(g~, a=2.0, d=D~)
--
y = p~(y)
--
p~.keywords['a'] = $n
D~['k'] = $n
p~ = functools.partial(g~, a=$n, d=D~)
p~ = functools.partial(p~, b=$n)
p~.__setstate__((p~.func, p~.args, {'a': $n, 'd': D~}, None))
== partialmethod
class C~:
    k = 1.0
    def m(self, y, a): return y * a * self.k
    twice = functools.partialmethod(m, a=2.0)
O~ = C~()
--
y = O~.twice(y)
--
O~.k = $n
C~.twice = functools.partialmethod(C~.m, a=$n)
C~.m = lambda s, y, a: y
== decorated
O~ = NS(k=2.0)
def deco~(g):
    @functools.wraps(g)
    def run(y): return g(y) * O~.k
    return run
@deco~
def h~(y): return y + 1.0
--
y = h~(y)
--
O~.k = $n
h~.__wrapped__ = lambda y: y
h~ = deco~(lambda y: y - $n)
== generator_function
O~ = NS(n=2, k=1.5)
def terms~(y):
    for i in range(O~.n):
        yield y * i * O~.k
--
y = y + sum(terms~(y))
--
O~.n = $i
O~.k = $n
terms~ = lambda y: [y * $n]
== generator_send
O~ = NS(k=1.5)
def co~():
    v = 0.0
    while True:
        got = yield v
        v = got * O~.k
--
c = co~()
next(c)
y = y + c.send(2.0) + c.send(3.0)
c.close()
--
O~.k = $n
== generator_outside
def make~():
    k = 1.0
    while True:
        yield k
        k += 1.0
G~ = make~()
--
y = y * next(G~)
--
G~ = make~()
next(G~)
== iterator_outside
I~ = iter([1.0, 2.0, 3.0, 4.0, 5.0] * 9)
--
y = y * next(I~, 0.5)
--
next(I~, None)
I~ = iter([$n, $n] * 9)
== itertools_count
C~ = itertools.count(1); Y~ = itertools.cycle([1.0, 2.0])
--
y = y * next(C~) + next(Y~)
--
next(C~)
next(Y~)
C~ = itertools.count($i)
== iterator_consumed_by_for
I~ = iter([1.0, 2.0, 3.0])
--
for v in I~:
    y = y * v
--
I~ = iter([$n, $n])
== comprehension
L~ = [1.0, 2.0]; O~ = NS(lim=1.5)
--
y = y * sum([v * 2.0 for v in L~ if v < O~.lim]) + sum(v for v in L~) + len({v for v in L~})
--
L~.append($n)
O~.lim = $n
L~[0] = $n
== contextvar
V~ = contextvars.ContextVar('v~', default=2.0)
--
y = y * V~.get()
--
V~.set($n)
V~.set($v)
== contextvar_absent
V~ = contextvars.ContextVar('v~')
--
y = y * V~.get(1.5)
--
V~.set($n)
== contextvar_set
V~ = contextvars.ContextVar('v~', default=1.0)
--
tok = V~.set(3.0)
y = y * V~.get()
V~.reset(tok)
y = y + V~.get()
--
V~.set($n)
== contextvar_counter
V~ = contextvars.ContextVar('v~', default=1.0)
--
V~.set(V~.get() + 1.0)
y = y * V~.get()
--
V~.set($n)
== thread_local
T~ = threading.local(); T~.k = 2.0
--
y = y * T~.k + getattr(T~, 'b', 0.0)
--
T~.k = $n
T~.b = $n
vars(T~).pop('b', None)
== thread_local_subclass
class K~(threading.local):
    def __init__(self): self.stack = [1.0]
T~ = K~()
--
y = y * T~.stack[-1]
--
T~.stack.append($n)
T~.stack = [$n]
== lock
L~ = threading.Lock(); O~ = NS(n=0)
--
with L~:
    O~.n += 1
    y = y * O~.n
--
O~.n = $i
== environ
os.environ.pop('ENV~', None)
--
y = y * float(os.environ.get('ENV~', '2.0')) + (1.0 if 'ENV~' in os.environ else 0.0)
--
os.environ['ENV~'] = '$n'
os.environ.pop('ENV~', None)
os.environ['ENV~'] = '$i'
== getenv
os.environ.pop('ENV~', None)
--
if os.getenv('ENV~'): y = y * 2.0
--
os.environ['ENV~'] = '1'
os.environ.pop('ENV~', None)
== lazy_attr
class C~:
    def __init__(self): self.c = None; self.k = 2.0
    def get(self):
        if self.c is None:
            self.c = self.k * 1.5
        return self.c
O~ = C~()
--
y = y * O~.get()
--
O~.c = None
O~.k = $n
O~.c = $n
O~ = C~()
== lazy_array
class C~:
    def __init__(self): self.c = None; self.n = 3
    def get(self):
        if self.c is None:
            self.c = np.linspace(0.0, 1.0, self.n)
        return self.c
O~ = C~()
--
y = y * O~.get()
--
O~.c = None
O~.c = $a
O~.get()[0] = $n
O~ = C~()
== lazy_absent
O~ = NS(k=2.0)
--
if not hasattr(O~, 'c'):
    O~.c = np.ones(3) * O~.k
y = y * O~.c
--
O~.k = $n
vars(O~).pop('c', None)
O~.c = $a
== lazy_dict
D~ = {}; O~ = NS(key='a', k=2.0)
--
if O~.key not in D~:
    D~[O~.key] = np.full(3, O~.k)
y = y * D~[O~.key]
--
D~.clear()
O~.key = 'b'
O~.key = 'a'
O~.k = $n
D~['a'] = $a
== lazy_try
D~ = {}
--
try:
    c = D~['c']
except KeyError:
    c = D~['c'] = 2.5
y = y * c
--
D~.clear()
D~['c'] = $n
== lazy_global
C~ = None
def get~():
    global C~
    if C~ is None:
        C~ = [1.0, 2.0]
    return C~
--
y = y * get~()[1]
--
C~ = None
C~ = [$n, $n]
get~()[1] = $n
== lazy_traced
O~ = NS(c=None)
--
if O~.c is None:
    O~.c = y * 2.0
y = y + O~.c
--
O~.c = None
O~.c = $a
== lru_helper
O~ = NS(k=2.0)
@functools.lru_cache(maxsize=None)
def h~(n): return n * O~.k
--
y = y * h~(2) + h~(3)
--
O~.k = $n
h~.cache_clear()
h~.cache_clear(); O~.k = $n
== lru_array
@functools.lru_cache
def h~(n): return np.arange(n) * 1.0
--
y = y * h~(3)
--
h~(3)[0] = $n
h~.cache_clear()
== lru_method
class C~:
    def __init__(self): self.k = 2.0
    @functools.cache
    def m(self, n): return n * self.k
O~ = C~()
--
y = y * O~.m(2)
--
O~.k = $n
C~.m.cache_clear()
O~ = C~()
== counter_attr
O~ = NS(n=0)
--
O~.n += 1
y = y * 2.0
--
O~.n = $i
O~.n = $n
== counter_attr_used
O~ = NS(n=0)
--
O~.n += 1
y = y * O~.n
--
O~.n = $i
O~.n = $n
O~.n = True
== counter_branch
O~ = NS(n=0)
--
O~.n += 1
if O~.n % 2: y = y * 3.0
--
O~.n = $i
== counter_global
n~ = 0
def tick~():
    global n~
    n~ += 1
--
tick~()
y = y + n~
--
n~ = $i
== counter_dict
D~ = {'n': 0}
--
D~['n'] += 1
y = y * D~['n']
--
D~['n'] = $i
D~ = {'n': $i}
== counter_list
L~ = [0, 1.0]
--
L~[0] += 1
L~[1] *= 0.5
y = y * L~[1]
--
L~[0] = $i
L~[1] = $n
== counter_class
class C~:
    made = 0
    def __init__(self): C~.made += 1; self.i = C~.made
--
o = C~()
y = y * o.i
--
C~.made = $i
== counter_array
A~ = np.zeros(2, int)
--
A~[0] += 1
y = y * A~[0]
--
A~[0] = $i
A~ = np.zeros(2, int)
== anneal_multiply
O~ = NS(beta=1.0)
--
y = y * O~.beta
O~.beta = O~.beta * 0.9
--
O~.beta = $n
O~.beta = 1
== anneal_branch
O~ = NS(t=1.0)
--
O~.t *= 0.5
y = y * O~.t if O~.t > 0.2 else y - O~.t
--
O~.t = $p
== ema_float
O~ = NS(m=0.0)
--
O~.m = 0.9 * O~.m + 0.1 * float(x[0])
y = y * 2.0
--
O~.m = $n
== ema_array
O~ = NS(m=np.zeros(3))
--
O~.m = 0.9 * O~.m + 0.1 * y
y = y - O~.m
--
O~.m = $a
O~.m[0] = $n
== array_inplace_item
O~ = NS(buf=np.zeros(3))
--
O~.buf[0] = 2.0
O~.buf[1] += 1.0
y = y + O~.buf
--
O~.buf[:] = $n
O~.buf = $a
== array_inplace_traced
O~ = NS(buf=np.zeros(3))
--
O~.buf[0] = y[0]
y = y * 2.0
--
O~.buf[:] = $n
O~.buf = $a
== array_inplace_traced_read
O~ = NS(buf=np.zeros(3))
--
O~.buf[1] = y[0]
y = y + O~.buf
--
O~.buf[:] = $n
O~.buf = $a
== array_iadd
O~ = NS(w=np.ones(3))
--
O~.w += 1.0
y = y * O~.w
--
O~.w = $a
O~.w[0] = $n
== array_iadd_traced
O~ = NS(w=np.ones(3))
--
y = y * O~.w
O~.w -= 0.1 * y
--
O~.w = $a
O~.w[0] = $n
== array_out
O~ = NS(buf=np.zeros(3))
--
np.multiply(y, 2.0, out=O~.buf)
y = y + 1.0
--
O~.buf = $a
O~.buf[0] = $n
== array_out_outside_only
O~ = NS(buf=np.zeros(3), w=np.ones(3))
--
np.add(O~.w, 1.0, out=O~.buf)
y = y * O~.buf
--
O~.buf = $a
O~.w = $a
O~.w[0] = $n
== array_copyto
O~ = NS(buf=np.zeros(3))
--
np.copyto(O~.buf, y)
O~.buf.fill(1.5)
y = y * O~.buf
--
O~.buf = $a
== array_whole
O~ = NS(buf=np.zeros(3))
--
O~.buf[:] = y
y = y * 2.0
--
O~.buf = $a
O~.buf = np.zeros((1, 3))
== array_view_write
W~ = np.zeros((2, 3)); V~ = W~[1]
--
V~[:] = y
y = y + W~.sum()
--
W~[:] = $n
V~ = W~[0]
V~ = $a
== array_history
H~ = np.zeros((4, 3)); O~ = NS(i=0)
--
H~[O~.i % 4] = y
O~.i += 1
y = y * 1.5
--
O~.i = $i
H~[:] = 0.0
== array_sort_effect
A~ = np.array([3.0, 1.0, 2.0])
--
A~.sort()
y = y * A~[0]
--
A~[:] = $a
A~[0] = $n
== array_read
W~ = np.array([1.0, 2.0, 3.0])
--
y = y * W~
--
W~[0] = $n
W~ = $a
W~ = W~.astype('float32')
W~ = np.array($n)
W~ = np.ones((1, 3))
W~ = [1.0, 2.0, 3.0]
== array_decides
W~ = np.array([1.0, -2.0, 3.0])
--
if W~.sum() > 0: y = y * 2.0
if (W~ > 1.0).any(): y = y + 1.0
y = y * int(W~.argmax())
--
W~[0] = $n
W~[1] = $n
W~ = $a
== array_item_number
W~ = np.array([1.0, 2.0, 3.0]); N~ = np.array([2, 1])
--
y = y * W~[0] + float(W~[1]) + W~.tolist()[2] + W~.item(0)
for _ in range(N~[0]): y = y * 0.5
y = y + y[N~[1]]
--
W~[0] = $n
W~[2] = $n
N~[0] = $i
N~[1] = 2
W~ = $a
== array_meta
W~ = np.ones((2, 3))
--
y = y * W~.shape[0] + W~.ndim + len(W~) + W~.dtype.itemsize + W~.size
if W~.flags.writeable: y = y + 1.0
if W~.flags.c_contiguous: y = y * 2.0
if W~.base is None: y = y - 1.0
--
W~ = np.ones((3, 3))
W~ = W~.astype('float32')
W~.setflags(write=False)
W~ = np.asfortranarray(W~)
W~ = W~[:1]
== array_iter
W~ = np.array([1.0, 2.0])
--
for w in W~: y = y * w
y = y + sum(W~) + max(W~)
y = y + (1.0 if 2.0 in W~ else 0.0)
--
W~[0] = $n
W~ = $a
W~[1] = 5.0
== array_in_containers
P~ = {'w': [np.ones(3)], 'b': (np.zeros(3), 1.0)}
--
y = y * P~['w'][0] + P~['b'][0] * P~['b'][1]
--
P~['w'][0] = $a
P~['w'][0][0] = $n
P~['b'] = ($a, $n)
P~ = {'w': [$a], 'b': ($a, 2.0)}
== params_update
O~ = NS(p={'w': np.ones(3), 'b': 0.5})
--
y = y * O~.p['w'] + O~.p['b']
O~.p = {k: v * 0.5 for k, v in O~.p.items()}
--
O~.p = {'w': $a, 'b': $n}
O~.p['b'] = $n
== array_bool_index
M~ = np.array([True, False, True])
--
y = np.where(M~, y, 0.0) + y[M~].sum()
--
M~[1] = True
M~ = np.array([False, False, True])
M~[0] = $b
== array_int_index
I~ = np.array([0, 2, 1]); O~ = NS(i=1, sl=slice(0, 2))
--
y = y[I~] + y[O~.i] + y[O~.sl].sum()
--
I~[0] = 1
O~.i = 0
O~.i = -1
O~.sl = slice(1, 3)
I~ = np.array([2, 2, 2])
== array_aliases
A~ = np.ones(3); O~ = NS(a=A~, b=A~)
--
if O~.a is O~.b: y = y * 2.0
if np.shares_memory(O~.a, O~.b): y = y + 1.0
O~.a[0] = 5.0
y = y + O~.b
--
O~.b = $a
O~.b = O~.a
O~.a = $a
== array_string
W~ = np.array([1.0, 2.0])
--
y = y * len(str(W~)) + len(f'{W~[0]:.1f}')
--
W~[0] = 10.0 ** $i
W~ = np.array([1.0])
== kwargs_numpy
O~ = NS(axis=None, kw={'keepdims': False}, dt='float64', shape=(3,), p=2)
--
y = y + y.sum(axis=O~.axis, **O~.kw)
y = (y ** O~.p).astype(O~.dt).reshape(O~.shape)
--
O~.axis = 0
O~.kw['keepdims'] = True
O~.dt = 'float32'
O~.p = $i
O~.p = 2.0
O~.shape = (3, 1)
O~.shape = (1, 3)
O~.shape = (-1,)
== constructors
O~ = NS(n=3, v=2.0, a=0.5)
--
y = y + np.full(O~.n, O~.v)[:3].sum() + np.arange(O~.n).sum() + np.linspace(O~.a, 1.0, O~.n).sum()
y = y + np.zeros(O~.n).size + np.array([O~.a, O~.v]).sum() + np.eye(O~.n).sum() * O~.v
--
O~.n = 4
O~.v = $n
O~.a = $n
O~.v = $i
O~.n = 2
== named_op
O~ = NS(name='sin', f=np.cos)
--
y = getattr(np, O~.name)(y) + O~.f(y)
--
O~.name = 'tanh'
O~.f = np.exp
O~.f = lambda y: y * $n
== fill_array
O~ = NS(k=2.0)
--
z = np.zeros(3)
for i in range(3):
    z[i] = y[i] * O~.k
y = z
--
O~.k = $n
O~.k = $i
== array_of_traced
O~ = NS(k=2.0, w=[1.0, 2.0])
--
y = np.array([y[0] * O~.k, y[1] + O~.w[0], O~.w[1]])
--
O~.k = $n
O~.w[0] = $n
O~.w[1] = $n
== math_of_state
O~ = NS(a=0.5)
--
y = y * math.sin(O~.a) + math.exp(O~.a) + int(O~.a) + round(O~.a, 1) + abs(O~.a) + math.floor(O~.a)
--
O~.a = $n
O~.a = $i
O~.a = np.float64($n)
== math_of_traced
O~ = NS(a=0.5)
--
y = y.astype(float)
y = y * (math.sin(y[0]) + math.exp(-abs(y[1])) * O~.a)
--
O~.a = $n
== number_forms
O~ = NS(a=2.5, n=3)
--
q, r = divmod(O~.a, 2.0)
y = y * q + r + O~.a // 1 + O~.n % 2 + (O~.n << 1) + min(O~.a, 2.0) + pow(O~.n, 2) + O~.a.is_integer()
y = y + (1.0 if isinstance(O~.a, float) else 2.0) + (1.0 if type(O~.n) is int else 5.0) + O~.n.bit_length()
--
O~.a = $n
O~.n = $i
O~.a = 3.0
O~.n = True
== number_compare
O~ = NS(a=1.0, z=0.0)
--
if 0.0 < O~.a < 2.0: y = y * 2.0
if O~.z == 0: y = y + 1.0
if math.copysign(1.0, O~.z) < 0: y = -y
if O~.a is None: y = y - 1.0
--
O~.a = $n
O~.z = -0.0
O~.z = $n
O~.z = 0.0
O~.z = float('nan')
== number_text
O~ = NS(a=1.5, n=3)
--
y = y * len(f'{O~.a:.2f}') + len('%d' % O~.n) + len('{} {}'.format(O~.a, O~.n)) + len(str(O~.n))
D = {O~.n: 2.0, 3: 5.0}
y = y + D[3]
--
O~.a = 10.0 ** $i
O~.n = 10 ** $i
O~.n = 3
== number_range
O~ = NS(n=2)
--
for i in range(O~.n): y = y * 1.5 + i
--
O~.n = $i
O~.n = $i
O~.n = True
== number_while
O~ = NS(lim=3.0, step=1.0)
--
t = 0.0
while t < O~.lim:
    y = y * 1.1
    t += O~.step
--
O~.lim = $p
O~.step = 0.5
O~.step = 1
== fraction_decimal
O~ = NS(q=fractions.Fraction(1, 2), d=decimal.Decimal('1.5'), c=1 + 2j)
--
y = y * float(O~.q) + float(O~.d) + O~.c.real + abs(O~.c)
--
O~.q = fractions.Fraction($i, 7)
O~.d = decimal.Decimal('$n')
O~.c = complex($n, $n)
== enum_member
class E~(enum.Enum):
    A = 1.0
    B = 2.0
class I~(enum.IntEnum):
    LO = 1
    HI = 3
O~ = NS(e=E~.A, i=I~.LO)
--
y = y * O~.e.value * O~.i
if O~.e is E~.B: y = y + 1.0
if O~.i > I~.LO: y = y - 1.0
y = y + len(E~) + E~['A'].value + len(O~.e.name)
--
O~.e = E~.B
O~.e = E~.A
O~.i = I~.HI
E~.A._value_ = $n
== identity
S~ = object(); O~ = NS(a=S~, b=S~, n=None)
--
if O~.a is O~.b: y = y * 2.0
if O~.n is None: y = y + 1.0
if O~.a is not S~: y = y - 3.0
if id(O~.a) == id(S~): y = y * 1.5
--
O~.a = object()
O~.a = O~.b
O~.n = 0
O~.n = None
S~ = O~.a
== object_aliases
O~ = NS(p=NS(k=1.0), q=NS(k=2.0))
--
O~.p.k = 3.0
y = y * O~.q.k + O~.p.k
--
O~.q = O~.p
O~.q = NS(k=$n)
O~.q.k = $n
O~.p.k = $n
== type_queries
class A~: pass
class B~(A~): pass
O~ = NS(o=A~(), f=len, v=1.0)
--
if isinstance(O~.o, B~): y = y * 2.0
if callable(O~.f): y = y + 1.0
if isinstance(O~.v, (int, str)): y = y - 1.0
if isinstance(O~.v, float): y = y * 3.0
if type(O~.o).__name__ == 'A~': y = y + 5.0
--
O~.o = B~()
O~.f = 3
O~.v = $v
O~.v = 'text'
A~.__call__ = lambda s: 1
O~.f = A~()
A~.__name__ = 'Other'
== abc_register
class A~(abc.ABC):
    @abc.abstractmethod
    def m(self): ...
class B~: pass
O~ = B~()
--
if isinstance(O~, A~): y = y * 2.0
if isinstance(O~, collections.abc.Sized): y = y + 1.0
if issubclass(B~, A~): y = y - 1.0
--
A~.register(B~)
B~.__len__ = lambda s: $i
O~ = type('Z~', (A~,), {'m': lambda s: 1})()
== reflection
O~ = NS(a=1.0, name='a')
--
y = y * getattr(O~, O~.name) + vars(O~)['a'] + O~.__dict__.get('z', 0.5) + len(vars(O~)) + len(dir(O~)) * 0.01
for k, v in vars(O~).items():
    if isinstance(v, float): y = y + v
--
O~.a = $n
O~.z = $n
O~.name = 'z' if hasattr(O~, 'z') else 'a'
O~.a2 = $n
vars(O~).update(a=$n)
== globals_read
G~ = 2.0
--
y = y * globals()['G~'] + globals().get('H~', 1.0)
--
G~ = $n
H~ = $n
== global_absent
--
try:
    y = y * LATE~
except NameError:
    y = y + 1.0
--
LATE~ = $n
globals().pop('LATE~', None)
== global_shadows_builtin
--
y = y * len([1, 2]) + abs(-1.0)
--
len = lambda v: 7
abs = lambda v: $n
globals().pop('len', None)
globals().pop('abs', None)
== global_dynamic_write
W~ = 0
--
globals()['W~'] = globals()['W~'] + 1
y = y * W~
--
W~ = $i
== setattr_dynamic
O~ = NS()
--
setattr(O~, 'k', getattr(O~, 'k', 0) + 1)
O~.__dict__['j'] = 2.0
vars(O~).update(z=1.0)
y = y * O~.k + O~.j
--
O~.k = $n
vars(O~).clear()
== delattr_effect
O~ = NS(tmp=2.0)
--
if hasattr(O~, 'tmp'):
    y = y * O~.tmp
    del O~.tmp
--
O~.tmp = $n
== object_setattr
@dataclasses.dataclass(frozen=True)
class C~:
    n: int = 0
O~ = C~()
--
object.__setattr__(O~, 'n', O~.n + 1)
y = y * O~.n
--
object.__setattr__(O~, 'n', $i)
O~ = C~()
== copy_module
O~ = NS(l=[1.0, {'k': 2.0}], k=3.0)
--
c = copy.deepcopy(O~)
d = copy.copy(O~)
c.l[1]['k'] += 1.0
y = y * c.l[1]['k'] + c.l[0] + d.k + d.l[0]
--
O~.l[1]['k'] = $n
O~.l[0] = $n
O~.k = $n
O~.l.append(1.0)
== json_state
D~ = {'a': [1.0, 2.0], 'b': {'c': 3.0}}
--
d = json.loads(json.dumps(D~))
y = y * d['b']['c'] + sum(d['a'])
--
D~['a'].append($n)
D~['b']['c'] = $n
== operator_getters
O~ = NS(a=1.0, l=[1.0, 2.0], d={'k': 3.0}, s='abc')
g~ = operator.attrgetter('a'); h~ = operator.itemgetter(1); i~ = operator.methodcaller('upper')
--
y = y * g~(O~) + h~(O~.l) + operator.getitem(O~.d, 'k') + len(i~(O~.s)) + operator.contains(O~.d, 'z')
--
O~.a = $n
O~.l[1] = $n
O~.d['k'] = $n
O~.d['z'] = 1
O~.s = 'abcdef'
g~ = operator.attrgetter('d'); g~ = lambda o: $n
== weakref_state
class C~: pass
O~ = C~(); O~.k = 2.0; R~ = weakref.ref(O~); D~ = weakref.WeakKeyDictionary(); D~[O~] = 3.0
--
o = R~()
y = y * (o.k if o is not None else 7.0) + D~.get(O~, 1.0)
--
O~.k = $n
O~ = C~(); O~.k = $n
D~[O~] = $n
O~ = C~(); O~.k = 1.0; R~ = weakref.ref(O~)
== singledispatch
@functools.singledispatch
def g~(v, y): return y * 2.0
@g~.register
def _(v: int, y): return y + v
O~ = NS(v=1.0)
--
y = g~(O~.v, y)
--
O~.v = 3
O~.v = 's'
g~.register(str, lambda v, y: y * $n)
g~.register(float, lambda v, y: y - $n)
O~.v = 1.0
== match_class
class P~:
    __match_args__ = ('a',)
    def __init__(self, a): self.a = a; self.b = 5.0
O~ = NS(o=P~(2.0))
--
match O~.o:
    case P~(v): y = y * v
    case {'k': v, **rest}: y = y + v + len(rest)
    case [a, *b]: y = y - a + len(b)
    case 1 | 2: y = y * 9.0
    case str() as s: y = y + len(s)
    case _: y = -y
--
O~.o = {'k': $n, 'z': 1}
O~.o = [$n, 1.0]
O~.o = $i
O~.o = P~($n)
O~.o = 'text'
P~.__match_args__ = ('b',)
== try_effects
O~ = NS(d={}, log=[])
--
try:
    O~.log.append('try')
    y = y * O~.d['k']
except KeyError as e:
    O~.log.append(str(e))
else:
    O~.log.append('else')
finally:
    O~.log.append('finally')
--
O~.d['k'] = $n
O~.d.clear()
O~.log.clear()
== raises
O~ = NS(bad=False, n=0)
--
O~.n += 1
if O~.bad:
    raise RuntimeError('bad %d' % O~.n)
y = y * 2.0
--
O~.bad = True
O~.bad = False
O~.bad = $b
== assertion
O~ = NS(lim=10.0)
--
assert O~.lim > 0.0, f'limit {O~.lim}'
y = y * O~.lim
--
O~.lim = $n
O~.lim = $p
== exception_class
class X~(Exception): code = 2.0
O~ = NS(go=True)
--
try:
    if O~.go: raise X~('a')
    y = y + 1.0
except X~ as e:
    y = y * e.code
--
X~.code = $n
O~.go = $b
X~.__init__ = lambda s, *a: setattr(s, 'code', $n)
== print_text
O~ = NS(k=2.0)
--
print('k is', O~.k)
y = y * O~.k
--
O~.k = $n
== print_traced
--
print('sum', float(x.sum()))
y = y + 1.0
--
pass
== logging_text
LOG~ = []; H~ = logging.Handler(); H~.emit = lambda r: LOG~.append(r.getMessage())
lg~ = logging.Logger('lg~'); lg~.addHandler(H~); lg~.setLevel('INFO')
--
lg~.info('called %s', 1)
if lg~.isEnabledFor(logging.DEBUG): y = y * 2.0
y = y + 1.0
--
lg~.setLevel('ERROR')
lg~.setLevel('DEBUG')
LOG~.clear()
== warnings_warn
O~ = NS(on=True)
--
if O~.on: warnings.warn('careful', UserWarning)
y = y * 2.0
--
O~.on = $b
== stringio_effect
B~ = io.StringIO()
--
B~.write('line')
y = y * B~.tell()
--
B~.seek(0); B~.truncate()
== random_object
R~ = random.Random(3)
--
y = y * R~.random()
--
R~.seed($i)
== random_module
--
y = y * random.random() + random.choice([1.0, 2.0])
--
random.seed($i)
== numpy_generator
R~ = np.random.default_rng(3)
--
y = y * R~.normal() + R~.normal(size=3)
--
R~ = np.random.default_rng($i)
R~.normal()
== numpy_global_random
--
y = y * np.random.rand() + np.random.normal(size=3)
--
np.random.seed($i)
== numpy_shuffle
L~ = [1.0, 2.0, 3.0]; R~ = np.random.default_rng(3)
--
R~.shuffle(L~)
y = y * L~[0]
--
L~[0] = $n
R~ = np.random.default_rng($i)
== errstate
--
with np.errstate(divide='ignore'):
    y = y + (1.0 if np.geterr()['over'] == 'ignore' else 0.0)
--
np.seterr(over='warn')
np.seterr(over='ignore')
== regex
O~ = NS(p=re.compile('a+'), s='caat')
--
m = O~.p.search(O~.s)
y = y * len(m.group()) if m else y + 1.0
--
O~.p = re.compile('c')
O~.s = 'aaaaa'
O~.s = 'zzz'
== class_inside
O~ = NS(k=2.0, base=object)
class B~: k = 4.0
--
class Inner(B~):
    r = O~.k
    def m(self, y, d=O~.k): return y * self.r + d + self.k
y = Inner().m(y)
--
O~.k = $n
B~.k = $n
B~.m = None
B~.__init_subclass__ = classmethod(lambda c: setattr(c, 'r', $n))
== closure_inside
O~ = NS(k=2.0)
--
k = O~.k
def inner(y, n):
    return y * k if n == 0 else inner(y + O~.k, n - 1)
y = inner(y, 2)
y = (lambda z, a=O~.k: z * a)(y)
--
O~.k = $n
O~.k = $i
== tree_recursion
T~ = {'v': 1.0, 'ch': [{'v': 2.0, 'ch': []}, {'v': 0.5}]}
def visit~(n, y):
    y = y * n['v']
    for c in n.get('ch', ()): y = y + visit~(c, y)
    return y
--
y = visit~(T~, y)
--
T~['v'] = $n
T~['ch'][0]['ch'].append({'v': $n})
T~['ch'][1]['v'] = $n
T~['ch'].pop() if len(T~['ch']) > 1 else None
T~['ch'][-1]['ch'] = [{'v': $n}]
== linked_list
class N~:
    def __init__(self, v, next=None): self.v = v; self.next = next
H~ = N~(1.0, N~(2.0))
--
n = H~
while n is not None:
    y = y * n.v
    n = n.next
--
H~.v = $n
H~ = N~($n, H~)
H~.next = None
H~.next = N~($n)
== user_sequence
class Q~(collections.abc.Sequence):
    def __init__(self): self.v = [1.0, 2.0]
    def __len__(self): return len(self.v)
    def __getitem__(self, i): return self.v[i]
O~ = Q~()
--
for v in O~: y = y * v
y = y + sum(O~) + (2.0 in O~) + O~.index(O~[0]) + len(O~)
--
O~.v.append($n)
O~.v[0] = $n
Q~.__getitem__ = lambda s, i: [$n][i]
Q~.__len__ = lambda s: 1
== user_dict
class U~(collections.UserDict): pass
D~ = U~(a=1.0)
--
y = y * D~['a'] + D~.get('b', 2.0) + len(D~) + ('c' in D~)
--
D~['a'] = $n
D~['b'] = $n
D~['c'] = 1
D~.data = {'a': $n}
U~.__getitem__ = lambda s, k: $n
== float_subclass
class F~(float):
    def __mul__(self, o): return float(self) * 2.0 * o
    __rmul__ = __mul__
O~ = NS(a=F~(1.5), b=1.0)
--
y = y + (O~.a * O~.b)
--
O~.a = F~($n)
O~.a = $n
O~.b = $n
F~.__mul__ = lambda s, o: $n
== int_keys
D~ = {1: 2.0, True: 3.0, 2: 5.0}; O~ = NS(k=1)
--
y = y * D~[O~.k]
--
O~.k = 2
O~.k = True
O~.k = 1.0
D~[1] = $n
D~[O~.k] = $n
== tuple_keys
D~ = {('a', 0): 1.5}; O~ = NS(k=('a', 0))
--
y = y * D~.get(O~.k, 4.0)
--
O~.k = ('a', 1)
O~.k = ('a', 0)
D~[('a', 1)] = $n
D~[('a', 0)] = $n
== walrus
L~ = [1.0, 2.0]
--
if (n := len(L~)) > 2: y = y * n
while (s := sum(L~[:1])) > 100.0: break
y = y + s
--
L~.append($n)
L~[0] = $n
== star_args
L~ = [2.0, 1.0]
def g~(y, *a, **k): return y * a[0] + len(a)
--
y = g~(y, *L~)
--
L~[0] = $n
L~.append($n)
g~ = lambda y, *a: y + sum(a)
== string_keyed_methods
class C~:
    def up(self, y): return y * 2.0
    def down(self, y): return y * 0.5
O~ = C~(); N~ = NS(name='up')
--
y = getattr(O~, N~.name)(y)
--
N~.name = 'down'
N~.name = 'up'
O~.up = lambda y: y + $n
C~.down = lambda s, y: y - $n
== bound_method_held
class C~:
    k = 2.0
    def m(self, y): return y * self.k
O~ = C~(); B~ = NS(m=O~.m)
--
y = B~.m(y)
if B~.m == O~.m: y = y + 1.0
if B~.m.__self__ is O~: y = y - 2.0
--
O~.k = $n
C~.m = lambda s, y: y + $n
B~.m = C~().m
O~ = C~()
== builtin_method_held
L~ = [1.0]; B~ = NS(put=L~.append, size=L~.__len__)
--
B~.put(2.0)
y = y * B~.size()
--
L~.clear()
L~ = [1.0]; B~.put = L~.append
B~.size = lambda: $i
== bound_dict_get
D~ = {'k': 2.0}; g~ = D~.get
--
y = y * g~('k', 1.0) + sum(map(D~.get, ['k']))
--
D~['k'] = $n
g~ = {'k': $n}.get
D~['k'] = $n
== map_of_state
O~ = NS(fs=[math.sin, math.cos], vs=[0.5, 1.0])
--
y = y * sum(map(lambda g, v: g(v), O~.fs, O~.vs)) + [*map(str, O~.vs)].count('0.5')
--
O~.vs[0] = $n
O~.fs[0] = math.cos
O~.fs.reverse()
== nested_function_state
class L~:
    def __init__(self, k): self.k = k; self.sub = []
    def __call__(self, y):
        for s in self.sub: y = s(y)
        return y * self.k
O~ = L~(2.0); O~.sub.append(L~(0.5))
--
y = O~(y)
--
O~.sub[0].k = $n
O~.sub.append(L~($n))
O~.k = $n
O~.sub[0].sub.append(O~.sub[-1]) if len(O~.sub) > 1 and O~.sub[0] is not O~.sub[-1] else None
== property_of_arrays
class C~:
    def __init__(self): self.w = np.ones(3)
    @property
    def unit(self): return self.w / np.abs(self.w).max()
O~ = C~()
--
y = y * O~.unit
--
O~.w = $a
O~.w[1] = 4.0
C~.unit = property(lambda s: s.w * $n)
== store_constant
O~ = NS(last=None)
--
O~.last = 'seen'
O~.n = 3
y = y * 2.0
--
O~.last = None
O~ = NS(last=$n)
== store_traced
O~ = NS(last=None)
--
O~.last = y * 3.0
O~.prev = x
y = y + 1.0
--
O~.last = None
O~.last = $a
== store_traced_twice
O~ = NS(h=np.zeros(3), hist={})
--
O~.h = np.tanh(y + O~.h)
O~.hist['h'] = O~.h
y = y + O~.h
--
O~.h = $a
O~.hist.clear()
O~.h[0] = $n
== store_then_mutate
O~ = NS(out=[])
--
z = y * 2.0
O~.out.append(z)
z += 1.0
y = z * 1.0
--
O~.out.clear()
== store_number_of_traced
O~ = NS(best=1e9)
--
v = float((x ** 2).sum())
if v < O~.best:
    O~.best = v
y = y * 2.0
--
O~.best = $n
O~.best = 1e9
== store_container
O~ = NS(state={'t': 0, 'm': np.zeros(3)})
--
O~.state = {'t': O~.state['t'] + 1, 'm': O~.state['m'] * 0.5 + y}
y = y + O~.state['m'] / O~.state['t']
--
O~.state['t'] = $i
O~.state = {'t': 0, 'm': $a}
O~.state['m'][0] = $n
== store_object
class C~:
    def __init__(self, v): self.v = v
O~ = NS(o=None)
--
O~.o = C~(2.0)
y = y * O~.o.v
--
O~.o = None
C~.__init__ = lambda s, v: setattr(s, 'v', $n)
== swap_attrs
O~ = NS(a=1.0, b=2.0)
--
O~.a, O~.b = O~.b, O~.a
y = y * O~.a
--
O~.a = $n
O~.b = $n
== module_level_class_state
class R~:
    registry = {}
    @classmethod
    def get(cls, k): return cls.registry.setdefault(k, len(cls.registry) + 1.0)
O~ = NS(k='a')
--
y = y * R~.get(O~.k)
--
O~.k = 'b'
O~.k = 'a'
R~.registry.clear()
R~.registry['a'] = $n
== del_hook
class C~:
    log = []
    def __del__(self): self.log.append('gone')
--
o = C~()
del o
y = y * 2.0
--
C~.log.clear()
C~.__del__ = lambda s: None
== init_subclass_registry
class B~:
    reg = []
    def __init_subclass__(cls): B~.reg.append(cls.__name__)
--
class Z(B~): pass
y = y * len(B~.reg)
--
B~.reg.clear()
== is_of_argument
O~ = NS(last=None)
--
if O~.last is x: y = y * 2.0
O~.last = x
--
O~.last = None
== zip_longest_product
L~ = [1.0, 2.0]; K~ = [3.0]
--
for a, b in itertools.zip_longest(L~, K~, fillvalue=1.0): y = y * a + b
for a, b in itertools.product(L~, K~): y = y + a * b
for a, b in itertools.pairwise(L~): y = y - a * b
for k, g in itertools.groupby(L~): y = y + k
y = y + sum(itertools.islice(L~, 1)) + sum(itertools.takewhile(lambda v: v > 0, L~))
--
L~.append($n)
K~.append($n)
L~[0] = $n
== statistics_of_state
L~ = [1.0, 2.0, 4.0]
--
y = y * statistics.mean(L~) + statistics.median(L~)
--
L~.append($n)
L~[0] = $n
== string_template
O~ = NS(t='{a}-{b}', d={'a': 1, 'b': 2})
--
y = y * len(O~.t.format(**O~.d)) + len('%(a)s' % O~.d) + len(O~.t.format_map(O~.d))
--
O~.d['a'] = 10 ** $i
O~.t = '{a}'
O~.t = '{b}{a}{b}'
== tensor_state
T~ = tg.tensor([1.0, 2.0, 3.0])
--
y = y * np.asarray(T~.numpy())
--
T~ = tg.tensor($a)
T~.numpy()[0] = $n
== scipy_like_helper
O~ = NS(tol=1e-3, iters=5)
def newton~(c):
    v = 1.0
    for _ in range(O~.iters):
        v2 = 0.5 * (v + c / v)
        if abs(v2 - v) < O~.tol: break
        v = v2
    return v
--
y = y * newton~(2.0)
--
O~.iters = $i
O~.tol = $p
O~.tol = 1e-6
== renewed_params
P~ = {'w': np.array([0.1, 0.2, 0.3]), 'b': 0.5, 'n': 2}
--
y = y * P~['w'] + P~['b'] * P~['n']
--
P~ = {'w': $a, 'b': $n, 'n': 2}
P~ = {**P~, 'w': P~['w'] * 0.5}
P~ = {k: v * 1 for k, v in P~.items()}
P~ = {'w': $a, 'b': $v, 'n': $i}
P~ = dict(P~)
P~ = collections.OrderedDict(P~)
P~ = {'b': $n, 'w': $a, 'n': 2, 'more': 1}
P~['w'] = $a
P~ = dict(P~, b=np.float64($n))
== renewed_iterated_params
P~ = {'a': 0.5, 'b': np.array([1.0, 2.0, 0.5])}
--
for k~, v~ in P~.items():
    y = y * v~ + len(k~)
--
P~ = {'a': $n, 'b': $a}
P~ = {'b': $a, 'a': $n}
P~ = {**P~, 'cc': $n}
P~ = {'a': $n}
P~ = collections.OrderedDict(a=$n, b=$a)
P~['a'] = $v
== renewed_nested
S~ = NS(net={'layers': [{'w': np.ones(3), 'k': 0.5}, {'w': np.ones(3) * 2, 'k': 0.25}]})
--
for l~ in S~.net['layers']:
    y = np.tanh(y * l~['w'] + l~['k'])
--
S~.net = {'layers': [{'w': $a, 'k': $n}, {'w': $a, 'k': $n}]}
S~.net = {'layers': [{'w': $a, 'k': $n}] * 2}
S~.net['layers'] = [{'w': $a, 'k': $n}]
S~.net['layers'] = [dict(l) for l in S~.net['layers']]
S~.net['layers'] = tuple(S~.net['layers'])
S~.net['layers'][0] = {'w': $a, 'k': $v}
S~.net['layers'][0] = S~.net['layers'][-1]
S~ = copy.deepcopy(S~)
S~.net = S~.net
== renewed_objects
class C~:
    gain = 2.0
    def __init__(self, k): self.k = k
    def __call__(self, y): return y * self.k * self.gain
class D~(C~):
    gain = -1.0
S~ = NS(layers=[C~(0.5), C~(2.0)])
--
for l~ in S~.layers:
    y = l~(y)
--
S~.layers = [C~($n), C~($n)]
S~.layers = [C~(l.k) for l in S~.layers]
S~.layers = [C~($a), D~($n)]
S~.layers = [C~($n)] * 2
S~.layers[0] = C~($v)
S~.layers[0].__class__ = D~
S~.layers[0].gain = $n
S~.layers[0].__call__ = None
S~.layers = S~.layers + [C~($n)]
S~.layers = [S~.layers[0], np.tanh]
C~.gain = $n
== renewed_named_tuple
T~ = collections.namedtuple('T~', 'm v n')
U~ = collections.namedtuple('U~', 'm v n')
S~ = NS(state=T~(np.ones(3), 0.5, 2))
--
m~, v~, n~ = S~.state
y = y * m~ + S~.state.v * v~
for _ in range(S~.state.n):
    y = y + S~.state[0]
--
S~.state = T~($a, $n, 2)
S~.state = S~.state._replace(v=$n)
S~.state = T~($a, $v, $i)
S~.state = U~($a, $n, 2)
S~.state = T~($n, $a, 1)
S~ = NS(state=T~($a, $n, 2))
== renewed_frozen
@dataclasses.dataclass(frozen=True)
class C~:
    rate: float = 0.5
    mode: str = 'a'
    inner: tuple = (1.0, 2.0)
O~ = C~()
--
y = y * O~.rate if O~.mode == 'a' else y + O~.rate
y = y + O~.inner[0] * O~.inner[-1]
--
O~ = dataclasses.replace(O~, rate=$n)
O~ = dataclasses.replace(O~, mode='b')
O~ = dataclasses.replace(O~, inner=($n, $n))
O~ = dataclasses.replace(O~, inner=($n,))
O~ = dataclasses.replace(O~, inner=($v, $a))
O~ = C~()
== renewed_written
S~ = NS(a=NS(h=np.zeros(3), b=0.5), c=NS(h=np.ones(3), b=0.25))
--
S~.a.h = S~.a.h * S~.a.b + y
S~.a.b = S~.a.b * 0.5
y = y + S~.c.h * S~.c.b
--
S~.a = NS(h=$a, b=$n)
S~.a = S~.c
S~.c = NS(h=$a, b=$n)
S~.a, S~.c = S~.c, S~.a
S~ = NS(a=S~.c, c=NS(h=$a, b=$n))
S~.a = NS(h=$a, b=$v)
S~.a.h = S~.c.h
S~.c.h = np.array(S~.c.h)
== renewed_contents_written
S~ = NS(a={'h': np.zeros(3)}, c={'h': np.ones(3)})
--
S~.a['h'][0] = y[1]
y = y + S~.c['h']
--
S~.a = {'h': $a}
S~.c = {'h': $a}
S~.a = S~.c
S~.a = {'h': S~.c['h']}
S~.a, S~.c = {'h': $a}, {'h': $a}
== renewed_is
S~ = NS(a=NS(k=1.0), b=NS(k=2.0))
B~ = NS(k=3.0)
--
y = y * 2.0 if S~.a is S~.b else y * S~.a.k
y = y + 1.0 if S~.b is B~ else y - S~.b.k
--
S~.a = NS(k=$n)
S~.b = NS(k=$n)
S~.a = S~.b
S~.b = B~
S~.a = S~.b = NS(k=$n)
B~ = NS(k=$n)
S~.b = NS(k=$a)
B~ = S~.b = NS(k=$n)
== renewed_equal
class C~:
    def __init__(self, k): self.k = k
    def __eq__(self, other): return self.k == other.k
    def __hash__(self): return hash(self.k)
S~ = NS(a=C~(1.0), held=[C~(1.0)], table={C~(1.0): 2.0})
--
if S~.a in S~.held: y = y * S~.held[0].k
if S~.a == S~.held[-1]: y = y + 1.0
y = y * S~.table.get(S~.a, 0.5)
--
S~.a = C~($n)
S~.a = C~(1.0)
S~.held = [C~(1.0)]
S~.held = [C~($n), S~.a]
S~.table = {C~(1.0): $n}
S~.table[S~.a] = $n
== renewed_identity
class C~: pass
S~ = NS(a=C~(), held=[], table={})
--
if S~.a in S~.held: y = y * 2.0
y = y * S~.table.get(S~.a, 0.5)
if [S~.a] == S~.held: y = y + 1.0
--
S~.a = C~()
S~.held = [S~.a]
S~.held = [C~(), S~.a]
S~.table = {S~.a: $n}
S~.held.clear()
S~.table[S~.a] = $n
== renewed_properties
class C~:
    __slots__ = ('k', '__dict__')
    def __init__(self, k): self.k = k
    @property
    def twice(self): return self.k * getattr(self, 'factor', 2.0)
    def __getattr__(self, name):
        if name == 'other': return 1.5
        raise AttributeError(name)
S~ = [C~(0.5)]
--
y = y * S~[0].twice + S~[0].other
--
S~[0] = C~($n)
S~ = [C~($v)]
S~[0].factor = $n
S~[0].other = $n
S~[:] = [C~($a)]
C~.other = $n
if 'other' in vars(C~): del C~.other
== renewed_returned
class C~: pass
S~ = NS(o=C~(), d={'k': 0.5})
def both~(y):
    return y * S~.d['k'], S~.o
--
y, o~ = both~(y)
y = y + (1.0 if o~ is S~.o else 0.0) + len(vars(o~))
--
S~.o = C~()
S~.o.k = 1
S~.d = {'k': $n}
S~ = NS(o=C~(), d={'k': $v})
== renewed_dict_attributes
S~ = [NS(a=0.5, b=1.0)]
--
for k~, v~ in vars(S~[0]).items():
    y = y * v~
y = y + len(S~[0].__dict__)
--
S~[0] = NS(a=$n, b=$n)
S~ = [NS(a=$n, b=$n)]
S~[0].c = $n
S~[0] = NS(b=$n, a=$v)
vars(S~[0]).pop('a', None)
== listed_array
L~ = [0.5, 1.0, -2.0]
--
y = y * np.array(L~) + np.dot(L~, x)
--
L~ = [$n, $n, $n]
L~[0] = $n
L~[1] = $v
L~ = [1, 2, 3]
L~ = ($n, $n, $n)
L~ = list($a)
L~.reverse()
L~ = [$n]
== listed_operand
S~ = NS(w=[0.5, 1.0, -2.0])
--
y = y * S~.w - S~.w + np.maximum(y, S~.w)
--
S~.w = [$n, $n, $n]
S~.w[0] = $v
S~.w = list($a)
S~ = NS(w=[$n, $n, $n])
S~.w = [True, False, True]
S~.w[2] = $n
== listed_both_ways
S~ = NS(w=[0.5, 1.0, -2.0])
--
a~ = np.asarray(S~.w)
a~ += y
y = a~ * S~.w[0]
for w~ in S~.w:
    y = y + w~
if S~.w[-1] > 0.0: y = y + sum(S~.w)
y = y + math.fsum(S~.w)
--
S~.w = [$n, $n, $n]
S~.w[0] = $n
S~.w[-1] = $v
S~.w.reverse()
S~.w.append($n)
S~.w = tuple(S~.w)
== listed_whole_numbers
L~ = [1, 2, 3, 4, 5]
--
y = y * np.sum(L~) + np.array(L~)[:3] * L~[1]
--
L~ = [$i, 2, $i, 4, $i]
L~[0] = $i
L~[1] = $v
L~ = [float(k) for k in L~]
L~ = [10 ** 18] * 5
== listed_history
L~ = [0.5, 0.25]
--
y = y * np.mean(L~) + np.array(L~)[-1] + len(L~)
--
L~.append($n)
L~ = L~ + [$n]
L~ = L~[1:] or [1.0]
L~[-1] = $v
L~ = list($a)
== list_methods_of_equal
class C~:
    def __init__(self, k): self.k = k
    def __eq__(self, other): return self.k == other.k
    __hash__ = None
L~ = [C~(1.0), C~(2.0), C~(2.0)]
P~ = C~(2.0)
--
y = y * (L~.index(P~) + 1) + L~.count(P~) + (P~ in L~)
--
L~[0].k = 2.0
L~[1].k = $n
P~.k = 1.0
P~.k = L~[-1].k
C~.__eq__ = lambda s, o: True
L~.append(C~(P~.k))
== dict_of_user_keys
class C~:
    def __init__(self, k): self.k = k
    def __hash__(self): return 7
    def __eq__(self, other): return isinstance(other, C~) and self.k == other.k
D~ = {C~(1): 2.0, C~(2): 3.0}
P~ = C~(1)
--
y = y * D~.get(P~, 0.5) + len(D~) + (C~(2) in D~)
--
P~.k = 2
P~.k = 5
D~[P~] = $n
next(iter(D~)).k = 5
P~ = next(iter(D~))
C~.__eq__ = lambda s, o: s is o
== sorted_by_comparison
O~ = NS(sign=1.0)
def order~(a, b): return O~.sign * (a - b)
L~ = [3.0, 1.0, 2.0]
--
y = y * sorted(L~, key=functools.cmp_to_key(order~))[0]
--
O~.sign = -1.0
O~.sign = $n
L~[1] = $n
order~ = lambda a, b: b - a
order~.__code__ = (lambda a, b: a - b).__code__
== grouped_by_key
O~ = NS(mod=2)
L~ = [1, 3, 2, 4, 5]
--
for k, g in itertools.groupby(L~, key=lambda v: v % O~.mod):
    y = y * (k + 0.5) + len(list(g))
--
O~.mod = 3
L~.append(7)
L~[0] = $i
O~.mod = 2
== accumulated
O~ = NS(k=0.5)
L~ = [1.0, 2.0, 3.0]
--
y = y + list(itertools.accumulate(L~, lambda a, b: a * O~.k + b, initial=O~.k))[-1]
--
O~.k = $n
L~[1] = $n
L~.pop() if len(L~) > 1 else L~.append($n)
== text_formatted
O~ = NS(a=1, d={'k': 'word'})
--
y = y + len('{0.a} {1[k]} {2!r}'.format(O~, O~.d, O~.a)) + len('%(k)s' % O~.d) + len('%s' % (O~.d,))
--
O~.a = 12345
O~.d['k'] = 'longer words'
O~.d['extra'] = 1
O~.a = $v
== format_hook
class C~:
    width = 3
    def __format__(self, spec): return spec * self.width
    def __repr__(self): return 'r' * self.width
    def __str__(self): return 's' * (self.width + 1)
O~ = C~()
--
y = y + len(f'{O~:ab}') + len(f'{O~!r}') * 2.0 + len(str(O~)) + len(f'{[O~]}')
--
O~.width = 5
C~.width = 1
C~.__str__ = lambda s: ''
C~.__repr__ = object.__repr__ if False else (lambda s: 'q')
if 'width' in vars(O~): del O~.width
== dataclass_replaced
@dataclasses.dataclass
class C~:
    a: float = 1.0
    b: float = 2.0
    def __post_init__(self): self.c = self.a + self.b
O~ = C~()
--
p = dataclasses.replace(O~, a=3.0)
y = y * p.c + sum(dataclasses.astuple(O~)) + len(dataclasses.asdict(O~)) + len(dataclasses.fields(O~))
--
O~.b = $n
O~.a = $n
C~.__post_init__ = lambda s: setattr(s, 'c', 0.5)
O~ = C~($n, $n)
== copy_hooks
class C~:
    def __init__(self): self.v = [1.0]
    def __copy__(self):
        new = C~()
        new.v = self.v
        return new
    def __deepcopy__(self, memo):
        new = C~()
        new.v = [10.0 * self.v[0]]
        return new
O~ = C~()
--
y = y * copy.copy(O~).v[0] + copy.deepcopy(O~).v[0] + copy.deepcopy([O~, O~])[1].v[0]
--
O~.v[0] = $n
O~.v = [$n, 1.0]
C~.__copy__ = lambda s: NS(v=[2.5])
del C~.__deepcopy__
== bisected_by_key
O~ = NS(k=1.0)
L~ = [1.0, 2.0, 4.0]
--
i = bisect.bisect_left(L~, 2.5, key=lambda v: v * O~.k)
y = y * (i + 1.0)
--
O~.k = 2.0
O~.k = 0.25
L~[1] = 3.5
L~.insert(0, 0.5)
== smallest_of_objects
class C~:
    def __init__(self, k): self.k = k
    def __lt__(self, other): return self.k < other.k
L~ = [C~(3.0), C~(1.0), C~(2.0)]
--
y = y * heapq.nsmallest(1, L~)[0].k + max(L~, key=lambda c: c.k).k + min(L~).k + sorted(L~)[-1].k
--
L~[1].k = $n
L~[0].k = $n
L~.append(C~($n))
C~.__lt__ = lambda s, o: s.k > o.k
== numeric_hooks
class C~:
    v = 2.0
    def __divmod__(self, o): return (self.v, o)
    def __pow__(self, o): return self.v ** o
    def __abs__(self): return abs(self.v)
    def __round__(self, n=0): return round(self.v, n)
    def __int__(self): return int(self.v)
    def __float__(self): return self.v
    def __index__(self): return 1
    def __neg__(self): return -self.v
    def __matmul__(self, o): return self.v * o
O~ = C~()
--
y = y * abs(O~) + divmod(O~, 3)[0] + (O~ ** 2) + round(O~) + int(O~) + float(O~) + y[O~] + (-O~) + (O~ @ 2.0)
--
C~.v = $n
O~.v = $n
C~.__index__ = lambda s: 2
C~.__abs__ = lambda s: 0.5
C~.__round__ = lambda s, n=0: 7
C~.__pow__ = lambda s, o: s.v
== reversed_hook
class C~:
    def __init__(self): self.vs = [1.0, 2.0, 3.0]
    def __len__(self): return len(self.vs)
    def __getitem__(self, i): return self.vs[i]
O~ = C~()
--
for v in reversed(O~):
    y = y * 0.5 + v
y = y + sum(O~) + (2.0 in O~) + list(O~)[0]
--
O~.vs[0] = $n
O~.vs.append($n)
C~.__reversed__ = lambda s: iter([5.0])
C~.__contains__ = lambda s, v: True
C~.__iter__ = lambda s: iter([2.0, 2.0])
C~.__len__ = lambda s: 2
== truth_hooks
class C~: pass
O~ = C~()
--
y = y * 2.0 if O~ else y + 1.0
y = y + 1.5 if not O~ else y
y = (O~ and y) if not O~ and False else y
--
C~.__len__ = lambda s: 0
C~.__bool__ = lambda s: True
C~.__bool__ = lambda s: False
if '__bool__' in vars(C~): del C~.__bool__
if '__len__' in vars(C~): del C~.__len__
== subclass_asked
class A~: pass
class B~(A~): pass
class Z~: pass
O~ = NS(cls=B~)
--
y = y * 2.0 if issubclass(O~.cls, A~) else y + 1.0
y = y + len(O~.cls.__mro__) + (A~ in O~.cls.__bases__)
--
O~.cls = Z~
O~.cls = B~
B~.__bases__ = (Z~,)
B~.__bases__ = (A~, Z~)
A~ = Z~
== callable_asked
class C~: pass
O~ = C~()
--
y = y * 2.0 if callable(O~) else y + 0.5
--
C~.__call__ = lambda s: 1
if '__call__' in vars(C~): del C~.__call__
O~ = len
O~.__call__ = 1
== none_until_set
O~ = NS(c=None, w=None)
--
if O~.c is not None:
    y = y * O~.c
y = y + (1.0 if O~.w is None else O~.w)
--
O~.c = $n
O~.c = None
O~.w = $a
O~.w = None
O~.c = 0.0
== default_from_outside
DEFAULT~ = [1.0, 2.0]
D~ = {}
--
v = D~.get('k', DEFAULT~)
y = y * v[0] + getattr(getattr(D~, 'missing', None), 'b', DEFAULT~)[1]
--
DEFAULT~[0] = $n
D~['k'] = [$n]
DEFAULT~ = [$n, $n]
D~.clear()
== class_dictionary
class C~:
    k = 1.0
--
y = y * C~.__dict__.get('k', 0.5) + ('extra' in vars(C~)) + len(C~.__name__) + (C~.__doc__ is None)
--
C~.k = $n
C~.extra = 1
C~.__name__ = 'Longer'
C~.__doc__ = 'text'
if 'extra' in vars(C~): del C~.extra
if 'k' in vars(C~): del C~.k
== error_state
--
y = y * (2.0 if np.geterr()['divide'] == 'ignore' else 3.0)
--
np.seterr(divide='warn')
np.seterr(divide='ignore')
== modules_loaded
sys.modules.pop('made_up_~', None)
--
y = y * (2.0 if 'made_up_~' in sys.modules else 1.0) + len(sys.modules.get('made_up_~', ()) or ())
--
sys.modules['made_up_~'] = [1, 2]
sys.modules['made_up_~'].append(3) if 'made_up_~' in sys.modules else None
sys.modules.pop('made_up_~', None)
== set_algebra
S~ = {1, 2, 3}
T~ = frozenset({2, 3})
--
y = y + len(S~ | T~) + len(S~ & T~) * 2.0 + len(S~ - T~) + (T~ <= S~) + len(S~ ^ T~) + S~.isdisjoint(T~) + sum(S~)
--
S~.add(9)
S~.discard(2)
T~ = frozenset({7})
S~ = {2, 3}
S~.update(T~)
== dict_joined
D~ = {'a': 1.0}
E~ = {'b': 2.0}
--
J = D~ | E~
J |= {'c': 3.0}
y = y * sum(J.values()) + len(D~ | {'b': 1}) + (D~ == {'a': 1.0})
--
D~['a'] = $n
E~['a'] = $n
E~['z'] = $n
D~.pop('a', None)
E~.clear()
== list_statements
L~ = [1.0, 2.0, 3.0]
O~ = NS(n=0)
--
L~[1:2] = [0.5, 0.25]
del L~[0]
O~.n = len(L~)
y = y * L~[0]
L~ = [1.0, 2.0, L~[-1]]
--
L~[2] = $n
L~[1] = $n
L~.append($n)
== zipped
L~ = [1.0, 2.0]
M~ = (3.0, 4.0)
--
for i, (a, b) in enumerate(zip(L~, M~, strict=True), start=1):
    y = y + a * b * i
y = y + sum(map(lambda a, b: a - b, L~, M~)) + sum(a for a, _ in zip(L~, reversed(M~)))
--
L~[0] = $n
M~ = ($n, $n)
L~.append($n)
M~ = [$n] * len(L~)
== getters
class C~:
    def __init__(self): self.k = 2.0; self.inner = NS(v=3.0)
    def act(self, a): return self.k * a
O~ = C~()
D~ = {'a': 1.0, 'b': 2.0}
--
y = y * operator.attrgetter('inner.v')(O~) + operator.methodcaller('act', 2.0)(O~) + sum(operator.itemgetter('a', 'b')(D~))
--
O~.k = $n
O~.inner.v = $n
O~.inner = NS(v=$n)
D~['b'] = $n
C~.act = lambda s, a: a
== reduced
O~ = NS(f=operator.add, start=1.0, vs=[1.0, 2.0, 3.0])
--
y = y * functools.reduce(O~.f, O~.vs, O~.start) + functools.reduce(lambda a, b: a * b, O~.vs)
--
O~.f = operator.mul
O~.start = $n
O~.vs[1] = $n
O~.vs.append($n)
O~.f = lambda a, b: b
== delete_hooks
class C~:
    def __init__(self): self.log = 0; self.d = {'k': 1.0}
    def __delattr__(self, name): object.__setattr__(self, 'log', self.log + 1)
    def __delitem__(self, key): self.d.pop(key, None)
    def __setitem__(self, key, value): self.d[key] = value * 2.0
    @property
    def p(self): return self.log
    @p.deleter
    def p(self): self.log = 10
O~ = C~()
--
del O~.thing
O~['k'] = 2.0
y = y * O~.d['k'] + O~.p
del O~['k']
--
O~.log = $i
C~.__setitem__ = lambda s, k, v: s.d.__setitem__(k, v)
C~.__delattr__ = lambda s, n: None
== iterator_of_class
class C~:
    def __init__(self): self.n = 3; self.at = 0
    def __iter__(self):
        self.at = 0
        return self
    def __next__(self):
        if self.at >= self.n: raise StopIteration
        self.at += 1
        return self.at * 0.5
O~ = C~()
--
for v in O~:
    y = y + v
y = y * max(O~)
--
O~.n = $i + 1
O~.n = 2
C~.__next__ = lambda s: (_ for _ in ()).throw(StopIteration) if s.at else setattr(s, 'at', 1) or 4.0
== generator_with_finally
O~ = NS(closed=0, vs=[1.0, 2.0])
def gen~():
    try:
        for v in O~.vs: yield v
    finally:
        O~.closed += 1
--
for v in gen~():
    y = y * v
    if v > 1.5: break
y = y + sum(gen~())
--
O~.vs[0] = $n
O~.vs.append($n)
O~.closed = 0
== functions_in_numpy
O~ = NS(k=2.0, fs=[np.sin, np.cos])
def act~(v): return v * O~.k
--
y = y + np.apply_along_axis(lambda r: r * O~.k, 0, y) + np.vectorize(act~)(x)
y = y + np.piecewise(x, [x > 0.0], [lambda v: v * O~.k, O~.fs[0]]) + np.select([x > 0.5], [y], O~.k)
--
O~.k = $n
O~.fs[0] = np.cos
act~.__code__ = (lambda v: v + 1.0).__code__
O~.k = $p
== class_getitem
class C~:
    table = {'k': 2.0}
    def __class_getitem__(cls, name): return cls.table.get(name, 1.0)
--
y = y * C~['k'] + C~['other']
--
C~.table['k'] = $n
C~.table['other'] = $n
C~.table = {}
C~.__class_getitem__ = classmethod(lambda c, n: 0.5)
== flags
class E~(enum.Flag):
    A = 1
    B = 2
    C = 4
class M~(enum.IntEnum):
    ONE = 1
    TWO = 2
O~ = NS(f=E~.A | E~.B, m=M~.ONE)
--
y = y * (2.0 if E~.B in O~.f else 0.5) + O~.m + len(list(M~)) + (O~.m == 1) + bool(O~.f & E~.C)
--
O~.f = E~.C
O~.f |= E~.C
O~.m = M~.TWO
O~.m = 2
O~.f = E~(0)
== subclasses_of_plain
class S~(str):
    k = 2.0
class T~(tuple):
    k = 1.0
class I~(int): pass
O~ = NS(s=S~('ab'), t=T~((1.0, 2.0)), i=I~(3))
O~.s.extra = 0.5
--
y = y * O~.s.k + len(O~.s) + O~.t.k + sum(O~.t) + O~.i + O~.s.extra + (O~.s == 'ab')
--
S~.k = $n
O~.s.extra = $n
O~.s = S~('abc'); O~.s.extra = 1.0
O~.t = T~(($n, $n))
O~.i = I~($i)
O~.i = $i
T~.__len__ = lambda s: 1
== builtin_uncovered
abs_~ = 1.0
--
y = y * abs(abs_~) + max(abs_~, 0.5)
--
abs = lambda v: 3.0
globals().pop('abs', None)
abs_~ = $n
max = lambda a, b: b
globals().pop('max', None)
== mixins
class A~:
    def act(self, y): return y + 1.0
class B~:
    def act(self, y): return y * 2.0
class C~(A~):
    def act(self, y): return super().act(y) * 0.5
O~ = C~()
--
y = O~.act(y)
--
C~.__bases__ = (B~, A~)
C~.__bases__ = (A~,)
A~.act = lambda s, y: y - 1.0
A~ = B~
O~.act = lambda y: y * 3.0
vars(O~).pop('act', None)
== kinds_of_methods
class C~:
    k = 2.0
    @staticmethod
    def s(y): return y * 2.0
    @classmethod
    def c(cls, y): return y * cls.k
O~ = C~()
--
y = C~.s(y) + O~.c(y) + C~.c(y)
--
C~.k = $n
C~.s = staticmethod(lambda y: y - 1.0)
C~.c = classmethod(lambda c, y: y + c.k)
O~.c = lambda y: y
vars(O~).pop('c', None)
C~.s = lambda y: y
C~.c = lambda s, *a: 1.0
== named_descriptor
class D~:
    def __set_name__(self, owner, name): self.name = '_' + name
    def __get__(self, x, cls): return 0.5 if x is None else x.__dict__.get(self.name, 1.0)
    def __set__(self, x, v): x.__dict__[self.name] = v * 2.0
class C~: a = D~()
O~ = C~()
--
y = y * O~.a + C~.a
O~.a = 1.5
--
O~.a = $n
vars(O~).pop('_a', None)
D~.__get__ = lambda s, x, c: 3.0
del D~.__set__
vars(O~)['a'] = $n
== memo_of_function
def helper~(n):
    if n not in helper~.cache: helper~.cache[n] = n * helper~.k
    return helper~.cache[n]
helper~.cache = {}
helper~.k = 0.5
--
y = y * helper~(2) + helper~(3)
--
helper~.cache.clear()
helper~.k = $n
helper~.cache[2] = $n
helper~.cache = {3: $n}
== weak_dictionary
class C~: pass
O~ = C~()
W~ = weakref.WeakKeyDictionary({O~: 2.0})
V~ = weakref.WeakValueDictionary({'o': O~})
--
y = y * W~.get(O~, 0.5) + ('o' in V~) + len(W~)
--
W~[O~] = $n
O~ = C~()
W~.pop(O~, None)
V~['o'] = O~
== exception_with_state
class E~(Exception):
    def __init__(self, k): super().__init__(k); self.k = k
O~ = NS(limit=0.0, k=2.0, log=0)
--
try:
    if O~.k > O~.limit: raise E~(O~.k)
    y = y + 1.0
except E~ as e:
    y = y * e.k + len(e.args)
else:
    y = y - 0.5
finally:
    O~.log += 1
--
O~.limit = 5.0
O~.k = $n
O~.limit = $n
E~.__init__ = lambda s, k: setattr(s, 'k', 0.25)
== compared_arrays
class C~:
    def __init__(self, v): self.v = np.array(v)
    def __lt__(self, other): return bool((self.v < other.v).all())
    def __le__(self, other): return not other < self
A~ = C~([1.0, 2.0])
B~ = C~([3.0, 4.0])
--
y = y * 2.0 if A~ < B~ <= B~ else y + 1.0
--
A~.v[0] = 9.0
B~.v = np.array([0.0, 0.0])
A~.v = np.array([-1.0, -1.0])
C~.__le__ = lambda s, o: False
"""

FRAGMENTS = parsed(TEXT)
