"""Programs that have C code and the standard library hold, order and hand on what is outside.

``== name``, what makes the state, ``--``, the body of a function of ``x`` (an array of three),
``--``, what happens between calls, one edit a line.
"""

TEXT = r"""
== partial
L = [1.0, 2.0]
def h(l, x): return x * l[0]
--
return functools.partial(h, L)(x)
--
L[0] = 3.0
L.insert(0, 5.0)
== partial_class
L = [[1, 2.0]]
def h(l, x): return x * len(l) + l[0]
--
p = functools.partial(h, L[0])
q = functools.partial(p)
return q(x)
--
L[0].append(3)
L[0][0] = 3
== dict_pairs
L = [1.0, 2.0]
--
return x * dict([(1, L)])[1][0]
--
L[0] = 3.0
L[0] = 4
== dict_pairs_int
L = [1, 2]
--
return x * dict([(1, L)])[1][0]
--
L[0] = 3
== itemgetter
L = [[1, 2], 3]
--
return x * operator.itemgetter(0)(L)[0]
--
L[0][0] = 3
L[0] = [7]
== itemgetter_two
L = [[1, 2], [3]]
--
a, b = operator.itemgetter(0, 1)(L)
return x * a[0] + b[0]
--
L[0][0] = 3
L[1][0] = 7
== itemgetter_own
L = [1, 2]
--
return x * operator.itemgetter(0)([L])[0]
--
L[0] = 3
== attrgetter
O = NS(a=NS(b=[1,2]))
--
return x * operator.attrgetter('a.b')(O)[0]
--
O.a.b[0] = 4
O.a = NS(b=[9])
== methodcaller
L = {'k': [1,2]}
--
return x * operator.methodcaller('get', 'k')(L)[0]
--
L['k'][0] = 4
L['k'] = [8]
== getitem_op
L = {'k': [1,2]}
--
return x * operator.getitem(L, 'k')[0]
--
L['k'][0] = 4
L['k'] = [8]
== chain
L = [1, 2]
--
y = x
for l in itertools.chain([L], [[3]]):
    y = y * l[0]
return y
--
L[0] = 3
== chain_from
L = [1, 2]
--
y = x
for l in itertools.chain.from_iterable([[L], [[3]]]):
    y = y * l[0]
return y
--
L[0] = 3
== chain_flat
L = [1, 2]
--
y = x
for l in itertools.chain(L, [5]):
    y = y * l
return y
--
L[0] = 3
L.append(4)
== chain_from_out
L = [[1, 2],[3]]
--
y = x
for l in itertools.chain.from_iterable(L):
    y = y * l
return y
--
L[0][0] = 3
L.append([4])
== copycopy
L = [[1, 2],[3]]
--
return x * copy.copy(L)[0][0]
--
L[0][0] = 3
L[0] = [4]
== copycopy_int
L = [1, 2]
--
return x * copy.copy(L)[0]
--
L[0] = 3
== copydeep
L = [[1, 2],[3]]
--
return x * copy.deepcopy(L)[0][0]
--
L[0][0] = 3
L[0] = [4]
== copy_obj
O = NS(a=[1,2])
--
return x * copy.copy(O).a[0]
--
O.a[0] = 3
O.a = [4]
== copy_user
class C:
    def __init__(s): s.a = [1,2]
O = C()
--
return x * copy.copy(O).a[0]
--
O.a[0] = 3
O.a = [4]
== zipstar
L = [([1], [2]), ([3], [4])]
--
a, b = zip(*L)
return x * a[0][0] + b[1][0]
--
L[0][0][0] = 3
L[1] = ([1],[9])
== list_items
D = {'a': [1, 2]}
--
return x * list(D.items())[0][1][0]
--
D['a'][0] = 3
D['a'] = [4]
D['b'] = [5]
== tuple_values
D = {'a': [1, 2]}
--
return x * tuple(D.values())[0][0]
--
D['a'][0] = 3
D['a'] = [4]
== sorted_key
L = [[2, 2],[1]]
--
return x * sorted(L, key=lambda l: l[0])[0][0]
--
L[0][0] = 0
L[1][0] = -3
== sorted_items
D = {'b': [1], 'a': [2]}
--
return x * sorted(D.items())[0][1][0]
--
D['a'][0] = 5
D['0'] = [7]
== sorted_own
L = [1, 2]
--
return x * sorted([L, [5]])[0][0]
--
L[0] = 3
L[0] = 9
== min_key
L = [[2, 2],[1]]
--
return x * min(L, key=len)[0] + max([L[0], [3]], key=len)[0]
--
L[0][0] = 0
L[1][0] = -3
L[1].extend([1,2,3])
== filter_
L = [[2, 2],[1]]
--
return x * list(filter(None, L))[0][0]
--
L[0][0] = 7
L[0].clear()
== filter_own
L = [2, 2]
--
return x * list(filter(None, [L]))[0][0] if L else x
--
L[0] = 7
L.clear()
== map_list
L = [[2, 2],[1]]
--
return x * list(map(list, L))[0][0]
--
L[0][0] = 7
== map_two
L = [[2, 2],[1]]
--
return x * list(map(lambda a, b: a, L, L))[0][0]
--
L[0][0] = 7
== reduce_
L = [[2, 2],[1]]
--
return x * functools.reduce(operator.add, L)[0]
--
L[0][0] = 7
== reduce_lam
L = [[2, 2],[1]]
--
return x * functools.reduce(lambda a, b: a, L)[0]
--
L[0][0] = 7
== call_star
T = ([2, 2], 1)
--
return x * (lambda a, b: a)(*T)[0]
--
T[0][0] = 7
== call_star_of_array
T = (np.array([2.0, 2.0, 1.0]), 3.0)
def add(a, b): return a * b
--
return x * add(*T)
--
T[0][0] = 7
T = (T[0], 5.0)
T[0][:] = 1
== call_star_of_attribute
class Layer: pass
o = Layer()
o.given = ([2.0], {"k": 3.0})
def both(a, b): return a[0] + b["k"]
--
return x * both(*o.given)
--
o.given[0][0] = 7.0
o.given[1]["k"] = 8.0
== call_star_twice
T = ([2.0], [3.0])
def outer(*a): return inner(*a)
def inner(a, b): return a[0] + b[0]
--
return x * outer(*T)
--
T[1][0] = 7.0
== match_tuple
T = ([2.0], 3.0)
--
match T:
    case (a, b):
        return x * a[0] + b
--
T[0][0] = 7.0
== return_star
T = ([2.0], 3.0)
def pair(): return (*T, 1.0)
--
return x * pair()[0][0]
--
T[0][0] = 7.0
== starmap_
L = [([2, 2],1)]
--
return x * list(itertools.starmap(lambda a, b: a, L))[0][0]
--
L[0][0][0] = 7
== accumulate_
L = [[2, 2],[1]]
--
return x * list(itertools.accumulate(L))[0][0]
--
L[0][0] = 7
== islice_
L = [[2, 2],[1]]
--
return x * next(itertools.islice(L, 0, 1))[0]
--
L[0][0] = 7
L[0] = [6]
== islice_own
L = [2, 2]
--
return x * next(itertools.islice([L], 0, 1))[0]
--
L[0] = 7
== repeat_
L = [2, 2]
--
return x * next(itertools.repeat(L, 2))[0]
--
L[0] = 7
== cycle_
L = [2, 2]
--
return x * next(itertools.cycle([L]))[0]
--
L[0] = 7
== product_
L = [2, 2]
M = [[1],[3]]
--
y = x
for a, b in itertools.product([L], M):
    y = y * a[0] + b[0]
return y
--
L[0] = 7
M[0][0] = 4
== product_r
M = [[1],[3]]
--
y = x
for a, b in itertools.product(M, repeat=2):
    y = y * a[0] + b[0]
return y
--
M[0][0] = 4
== permutations_
M = [[1],[3]]
--
y = x
for a, b in itertools.permutations(M):
    y = y * a[0] + b[0]
return y
--
M[0][0] = 4
== combinations_
M = [[1],[3]]
--
y = x
for a, b in itertools.combinations(M, 2):
    y = y * a[0] + b[0]
return y
--
M[0][0] = 4
== zip_longest_
M = [[1],[3]]
--
y = x
for a, b in itertools.zip_longest(M, [[1]], fillvalue=M[0]):
    y = y * a[0] + b[0]
return y
--
M[0][0] = 4
== groupby_
M = [[1, 5],[1, 6],[3, 7]]
--
y = x
for k, g in itertools.groupby(M, key=lambda a: a[0]):
    y = y * k + sum(v[1] for v in g)
return y
--
M[0][1] = 4
M[1][0] = 4
== groupby_nokey
M = [[1, 5],[1, 5],[3, 7]]
--
y = x
for k, g in itertools.groupby(M):
    y = y * k[0] + len(list(g))
return y
--
M[0][1] = 4
M[1][0] = 4
== tee_
M = [[1, 5],[1, 6],[3, 7]]
--
a, b = itertools.tee(M)
return x * next(a)[0] + next(b)[1]
--
M[0][1] = 4
M[0][0] = 4
== pairwise_
M = [[1, 5],[1, 6],[3, 7]]
--
y = x
for a, b in itertools.pairwise(M):
    y = y * a[0] + b[1]
return y
--
M[0][0] = 4
M[2][1] = 4
== compress_
M = [[1, 5],[1, 6],[3, 7]]
S = [1, 0, 1]
--
y = x
for a in itertools.compress(M, S):
    y = y * a[0]
return y
--
M[0][0] = 4
S[1] = 1
== takewhile_
M = [[1, 5],[1, 6],[3, 7]]
--
y = x
for a in itertools.takewhile(lambda a: a[0] < 3, M):
    y = y * a[1]
return y
--
M[0][1] = 4
M[0][0] = 9
== filterfalse_
M = [[1, 5],[1, 6],[3, 7]]
--
y = x
for a in itertools.filterfalse(lambda a: a[0] < 3, M):
    y = y * a[1]
return y
--
M[2][1] = 4
M[0][0] = 9
== dict_fromkeys
L = [1]
--
return x * dict.fromkeys(['a'], L)['a'][0]
--
L[0] = 4
== dict_kw
L = [1]
--
return x * dict(a=L)['a'][0]
--
L[0] = 4
== dict_or
L = [1]
D = {'a': L}
--
return x * (D | {'b': L})['a'][0] + ({} | D)['a'][0]
--
L[0] = 4
D['a'] = [5]
== dict_copy
L = [1]
D = {'a': L}
--
return x * D.copy()['a'][0] + dict(D)['a'][0]
--
L[0] = 4
D['a'] = [5]
== ordered
L = [1]
--
return x * collections.OrderedDict([('a', L)])['a'][0] + collections.OrderedDict(a=L)['a'][0]
--
L[0] = 4
== ordered_out
D = collections.OrderedDict(a=[1])
--
return x * D.copy()['a'][0] + collections.OrderedDict(D)['a'][0]
--
D['a'][0] = 4
D['a'] = [5]
== defaultdict_
L = [1]
--
d = collections.defaultdict(list, {'a': L})
return x * d['a'][0] + d.copy()['a'][0]
--
L[0] = 4
== defaultdict_fac
L = [1]
--
d = collections.defaultdict(lambda: L)
return x * d['a'][0]
--
L[0] = 4
== deque_
L = [1]
--
return x * collections.deque([L])[0][0] + collections.deque([L], maxlen=3).pop()[0]
--
L[0] = 4
== deque_out
L = collections.deque([[1],[2]])
--
return x * collections.deque(L)[0][0] + L.copy()[1][0] + (L + L)[2][0]
--
L[0][0] = 4
L.rotate(1)
== chainmap
L = [1]
D = {'a': L}
--
m = collections.ChainMap({}, D)
return x * m['a'][0]
--
L[0] = 4
D['a'] = [5]
== chainmap_out
M = collections.ChainMap({}, {'a': [1]})
--
return x * M['a'][0]
--
M.maps[1]['a'][0] = 4
M['a'] = [5]
== counter_
C = collections.Counter('aab')
--
return x * C['a'] + C.most_common(1)[0][1]
--
C['a'] += 4
C.update('bbbbbbbbbbbbbbb')
== counter_from
L = ['a', 'b', 'a']
--
return x * collections.Counter(L)['a']
--
L.append('a')
== set_objs
class C: pass
A = C(); A.v = [1]
--
return x * list({A})[0].v[0]
--
A.v[0] = 5
A.v = [3]
== frozenset_objs
class C: pass
A = C(); A.v = [1]
S = {A}
--
return x * list(frozenset(S))[0].v[0] + next(iter(S | S)).v[0]
--
A.v[0] = 5
A.v = [3]
== list_mul
L = [1]
--
return x * ([L] * 2)[1][0] + ([L] + [[3]])[0][0]
--
L[0] = 4
== list_add_out
L = [[1]]
--
return x * (L + [[3]])[0][0] + (L * 2)[1][0]
--
L[0][0] = 4
L[0] = [5]
== tuple_add_out
L = ([1],)
--
return x * (L + ([3],))[0][0] + (L * 2)[1][0]
--
L[0][0] = 4
== slice_
L = [[1],[2]]
--
return x * L[:1][0][0] + L[::-1][0][0]
--
L[0][0] = 4
L[1] = [5]
== slice_tuple
L = ([1],[2])
--
return x * L[:1][0][0] + L[::-1][0][0]
--
L[0][0] = 4
L[1][0] = 9
== reversed_
L = [[1],[2]]
--
return x * next(reversed(L))[0] + list(reversed([L]))[0][0][0]
--
L[1][0] = 4
L[0][0] = 4
== enumerate_
L = [[1],[2]]
--
return x * list(enumerate(L))[1][1][0] + list(enumerate([L]))[0][1][0][0]
--
L[1][0] = 4
L[0][0] = 4
== iter_next
L = [[1],[2]]
--
return x * next(iter(L))[0] + next(iter([L]))[0][0]
--
L[0][0] = 4
== pop_own
L = [1]
--
a = [L]
y = x * a.pop()[0] + {'k': L}.pop('k')[0]
return y + {'k': L}.popitem()[1][0] + {'k': L}.setdefault('k')[0]
--
L[0] = 4
== NSof
L = [1]
--
return x * NS(a=L).a[0] + vars(NS(a=L))['a'][0]
--
L[0] = 4
== namedtuple_
L = [1]
P = collections.namedtuple('P', 'a b')
--
p = P(L, 1)
y = x * p.a[0] + p._replace(b=2).a[0] + p._asdict()['a'][0]
return y + P._make([L, 2]).a[0] + P(**{'a': L, 'b': 3})[0][0]
--
L[0] = 4
== namedtuple_out
P = collections.namedtuple('P', 'a b')
Q = P([1], 2)
--
return x * Q.a[0] + Q._replace(b=2).a[0] + Q._asdict()['a'][0]
--
Q.a[0] = 4
Q = P([6], 3)
== dcreplace
@dataclasses.dataclass
class P:
    a: list
    b: int = 2
L = [1]
Q = P(L)
--
return x * dataclasses.replace(Q, b=3).a[0] + Q.b
--
L[0] = 4
Q.b = 4
Q.a = [5]
== dcasdict
@dataclasses.dataclass
class P:
    a: list
    b: int = 2
L = [1]
Q = P(L)
--
return x * dataclasses.asdict(Q)['a'][0] + dataclasses.astuple(Q)[1]
--
L[0] = 4
Q.b = 4
Q.a = [5]
== dcfields
@dataclasses.dataclass
class P:
    a: list
    b: int = 2
L = [1]
Q = P(L)
--
y = x
for g in dataclasses.fields(Q):
    v = getattr(Q, g.name)
    y = y * (v[0] if type(v) is list else v)
return y
--
L[0] = 4
Q.b = 4
Q.a = [5]
== singledispatch_
@functools.singledispatch
def g(a): return 1
@g.register
def _(a: int): return 2
L = [1]
--
return x * g(L) + g(3)
--
g.register(list, lambda a: a[0] + 7)
L[0] = 5
== singledispatchmethod_
class C:
    k = 3
    @functools.singledispatchmethod
    def g(self, a): return 1
    @g.register
    def _(self, a: int): return self.k
O = C()
--
return x * O.g([1]) + O.g(3)
--
C.k = 6
O.k = 4
== cachedprop
class C:
    def __init__(s): s.l = [1]
    @functools.cached_property
    def p(s): return s.l
O = C()
--
return x * O.p[0]
--
O.l[0] = 3
O.p[0] = 5
del O.p
O.l = [7]
== user_lt
class C:
    def __init__(s, v): s.v = v
    def __lt__(s, o): return s.v < o.v
L = [C(2), C(1), C(5)]
--
return x * sorted(L)[0].v + min(L).v
--
L[0].v = 0
L[2].v = -5
C.__lt__ = lambda s, o: s.v > o.v
== user_lt_sort
class C:
    def __init__(s, v): s.v = v
    def __lt__(s, o): return s.v < o.v
L = [C(2), C(1), C(5)]
--
m = list(L)
m.sort()
return x * m[0].v
--
L[0].v = 0
L[2].v = -5
C.__lt__ = lambda s, o: s.v > o.v
== cmp_to_key
L = [[2], [1]]
def c(a, b): return a[0] - b[0]
--
return x * sorted(L, key=functools.cmp_to_key(c))[0][0]
--
L[0][0] = 0
L[1][0] = -3
c = lambda a, b: b[0] - a[0]
== heapq_
L = [3, 1, 2]
--
return x * heapq.nsmallest(1, L)[0] + heapq.nlargest(1, L)[0]
--
L[0] = 0
L[1] = 8
== heapq_push
L = [3, 1, 2]
--
m = list(L)
heapq.heapify(m)
heapq.heappush(m, 0)
return x * heapq.heappop(m) + heapq.heappop(m)
--
L[0] = 0
L[1] = 8
== heapq_outside
L = [1, 3, 2]
--
heapq.heappush(L, 0)
return x * heapq.heappop(L) + L[0]
--
L[0] = 0
L[1] = 8
== heapq_objs
class C:
    def __init__(s, v): s.v = v
    def __lt__(s, o): return s.v < o.v
L = [C(2), C(1), C(5)]
--
m = list(L)
heapq.heapify(m)
return x * heapq.heappop(m).v
--
L[0].v = 0
L[2].v = -5
C.__lt__ = lambda s, o: s.v > o.v
== heapq_items
L = [3, 1]
M = [(1, L)]
--
m = [(2, L)]
heapq.heappush(m, (1, L))
return x * heapq.heappop(m)[1][0] + list(heapq.merge(M, m))[0][1][0]
--
L[0] = 0
L[1] = 8
== heapq_merge
L = [3, 7]
--
return x * list(heapq.merge(L, [4]))[0]
--
L[0] = 0
L[0] = 8
== bisect_
L = [1, 3, 5]
--
return x * bisect.bisect(L, 3) + bisect.bisect_left(L, 2)
--
L[1] = 4
L.insert(0, 0)
== bisect_key
L = [[1], [3], [5]]
--
return x * bisect.bisect(L, 3, key=lambda a: a[0])
--
L[1][0] = 4
L.insert(0, [0])
== bisect_user
class C:
    def __init__(s, v): s.v = v
    def __lt__(s, o): return s.v < o.v
L = [C(1), C(2), C(5)]
Q = C(3)
--
return x * bisect.bisect(L, Q)
--
L[1].v = 4
Q.v = 9
== bisect_insort
L = [1, 3, 5]
--
bisect.insort(L, 2)
return x * L[1]
--
L[1] = 4
L.insert(0, 0)
== counter_update
C = collections.Counter()
--
C.update(['a'])
return x * C['a']
--
C['a'] = 7
== counter_update2
C = collections.Counter()
--
C.update({'a': 2})
C.update(b=1)
C.subtract(['b'])
return x * C['a'] + C['b']
--
C['a'] = 7
== counter_total
C = collections.Counter('aab')
--
return x * C.total() + len(list(C.elements())) + (C + C)['a'] + (C - C)['a']
--
C['a'] = 7
== nt_counter
P = collections.namedtuple('P', 'n s')
S = P(0, 1.0)
--
global S
S = S._replace(n=S.n + 1)
return x * S.n
--
S = P(5, 2.0)
== nt_counter2
P = collections.namedtuple('P', 'n s')
S = P(0, 1.0)
--
global S
S = P(S.n + 1, S.s * 2)
return x * S.n * S.s
--
S = P(5, 2.0)
== nt_attr
class T(typing.NamedTuple):
    n: int
    w: object
class M: pass
O = M(); O.s = T(0, np.ones(3))
--
O.s = O.s._replace(n=O.s.n + 1, w=O.s.w * 0.9)
return x * O.s.w * O.s.n
--
O.s = T(7, np.ones(3))
== str_join
L = ['a', 'b']
--
return x * len(''.join(L)) + len('%s' % L) + len(f'{L}') + len('{}'.format(L)) + len(repr(L))
--
L[0] = 'abc'
L.append('z')
== json_
D = {'a': [1, 2]}
--
return x * len(json.dumps(D))
--
D['a'].append(33)
== json_load
S = ['[1, 2]']
--
return x * json.loads(S[0])[0]
--
S[0] = '[5]'
== struct_arr
A = array.array('d', [1.0, 2.0])
--
return x * A[0]
--
A[0] = 5.0
== arr_sum
A = array.array('d', [1.0, 2.0])
--
return x * sum(A) + np.array(A)[0]
--
A[0] = 5.0
== bytearray_
A = bytearray(b'abc')
--
return x * A[0] + len(bytes(A))
--
A[0] = 5
A.append(3)
== memoryview_
A = bytearray(b'abc')
M = memoryview(A)
--
return x * M[0]
--
A[0] = 5
== mappingproxy
D = {'a': [1]}
M = types.MappingProxyType(D)
--
return x * M['a'][0] + dict(M)['a'][0] + list(M.items())[0][1][0]
--
D['a'][0] = 5
D['a'] = [6]
== range_
R = [range(3)]
--
return x * sum(R[0])
--
R[0] = range(5)
== lru
L = [1]
@functools.lru_cache
def h(k): return L
--
return x * h(1)[0]
--
L[0] = 5
h.cache_clear()
L = [8]
== contextvar
V = contextvars.ContextVar('v', default=[1])
--
return x * V.get()[0]
--
V.get()[0] = 3
V.set([5])
== threadlocal
T = threading.local()
T.a = [1]
--
return x * T.a[0]
--
T.a[0] = 3
T.a = [5]
del T.a
== weak
class C: pass
A = C(); A.v = 1
W = weakref.ref(A)
--
return x * W().v
--
A.v = 3
== weakdict
class C: pass
A = C(); A.v = 1
W = weakref.WeakValueDictionary(a=A)
--
return x * W['a'].v
--
A.v = 3
A = C(); A.v = 7; W['a'] = A
== userdict
D = collections.UserDict(a=[1])
--
return x * D['a'][0] + D.copy()['a'][0]
--
D['a'][0] = 3
D['a'] = [4]
== userlist
D = collections.UserList([[1]])
--
return x * D[0][0] + (D + [1])[0][0] + list(D)[0][0]
--
D[0][0] = 3
D[0] = [4]
== statistics_
L = [1.0, 2.0]
--
return x * statistics.mean(L) + statistics.fmean(L)
--
L[0] = 3.0
== fsum
L = [1.0, 2.0]
--
return x * math.fsum(L) + math.prod(L) + math.hypot(*L) + math.dist(L, [0.0, 0.0])
--
L[0] = 3.0
== generator_kept
def gen():
    n = 0
    while True:
        n += 1
        yield n
G = gen()
--
return x * next(G)
--
next(G)
== types_genericalias
L = [int]
--
return x * (1 if list[L[0]] == list[int] else 2)
--
L[0] = float
== exec_args
L = [1]
--
e = ValueError(L)
return x * e.args[0][0]
--
L[0] = 4
== exc_raise
L = [1]
--
try:
    raise KeyError(L)
except KeyError as e:
    return x * e.args[0][0]
--
L[0] = 4
== prop
L = [1]
--
p = property(lambda s: L)
return x * p.fget(None)[0] + staticmethod(lambda: L).__func__()[0]
--
L[0] = 4
== methodtype
L = [1]
def h(l, x): return x * l[0]
--
return types.MethodType(h, L)(x)
--
L[0] = 4
== cell
L = [1]
--
return x * types.CellType(L).cell_contents[0]
--
L[0] = 4
== nparray_obj
L = [1]
--
a = np.empty(1, object)
a[0] = L
return x * a[0][0]
--
L[0] = 4
== nparray_obj2
A = np.array([[1], None], dtype=object)
--
return x * A[0][0] + A.tolist()[0][0] + A.copy()[0][0]
--
A[0][0] = 4
A[0] = [6]
== ctx_stack
class C:
    def __init__(s): s.v = [1]
    def __enter__(s): return s.v
    def __exit__(s, *a): pass
O = C()
--
with contextlib.ExitStack() as s:
    v = s.enter_context(O)
    return x * v[0]
--
O.v[0] = 4
O.v = [7]
== nullcontext
L = [1]
--
with contextlib.nullcontext(L) as v:
    return x * v[0]
--
L[0] = 4
== simplequeue
import queue
Q = queue.Queue()
Q.put([1]); Q.put([1]); Q.put([5])
--
v = Q.get()
Q.put(v)
return x * v[0]
--
Q.queue[0][0] = 9
== enum_val
class E(enum.Enum):
    A = 1
    B = 2
K = E.A
--
return x * K.value + (1 if K is E.A else 2) + E['B'].value + E(1).value + len(list(E))
--
K = E.B
== string_template
D = {'a': 1}
--
return x * len(string.Template('$a').substitute(D))
--
D['a'] = 100
== typed_vars
L = [1]
--
def g(a, *args, **kw): return args, kw
a, k = g(1, L, z=L)
return x * a[0][0] + k['z'][0]
--
L[0] = 4
== starred
L = [[1],[2],[3]]
--
a, *b = L
return x * b[0][0] + [*L][0][0] + (*L,)[2][0] + {**{'a': L}}['a'][0][0]
--
L[0][0] = 4
L[1][0] = 5
L[2][0] = 6
== mut_partial
L = [1]
def h(l, x):
    l.append(1)
    return x * len(l)
--
return functools.partial(h, L)(x) + sum(L)
--
L.append(3)
L.clear()
== mut_chain
L = [1]
--
for l in itertools.chain([L], [[3]]):
    l.append(2)
return x * len(L)
--
L.append(3)
== mut_chain_out
M = [[1],[2]]
--
for l in itertools.chain(M, [[3]]):
    l.append(2)
return x * len(M[0])
--
M.append([3])
M[0] = [7]
== mut_sorted
M = [[1],[2]]
--
sorted(M, key=len)[0].append(5)
return x * len(M[0])
--
M.append([3])
M[0] = [7]
== mut_itemgetter
M = [[1],[2]]
--
operator.itemgetter(0)(M).append(5)
return x * len(M[0])
--
M.append([3])
M[0] = [7]
== mut_itemgetter2
M = [[1],[2]]
--
a, b = operator.itemgetter(0, 1)(M)
a.append(5)
return x * len(M[0])
--
M.append([3])
M[0] = [7]
== mut_attrgetter
O = NS(a=[1])
--
operator.attrgetter('a')(O).append(5)
return x * len(O.a)
--
O.a = [4]
== mut_methodcaller
L = [1]
--
operator.methodcaller('append', 5)(L)
return x * len(L)
--
L = [4]
== mut_methodcaller2
L = {'a': [1]}
--
operator.methodcaller('get', 'a')(L).append(2)
return x * len(L['a'])
--
L['a'] = [4]
== mut_dictpairs
L = [1]
--
dict([(1, L)])[1].append(2)
return x * len(L)
--
L.append(9)
== mut_copy
M = [[1]]
--
copy.copy(M)[0].append(2)
return x * len(M[0])
--
M[0].append(9)
== mut_copy_obj
O = NS(a=[1])
--
copy.copy(O).a.append(2)
return x * len(O.a)
--
O.a.append(9)
== mut_copy_user
class C:
    def __init__(s): s.a = [1]
O = C()
--
p = copy.copy(O)
p.a.append(2)
p.b = 3
return x * len(O.a) * p.b
--
O.a.append(9)
== mut_zip
M = [[1]]
--
for a, b in zip(M, [4]): a.append(b)
return x * len(M[0])
--
M[0].append(9)
== mut_zipstar
M = [([1], 2)]
--
(a,), b = zip(*M)
a.append(3)
return x * len(M[0][0])
--
M[0][0].append(9)
== mut_items
D = {'a': [1]}
--
list(D.items())[0][1].append(3)
return x * len(D['a'])
--
D['a'].append(9)
== mut_values
D = {'a': [1]}
--
for v in list(D.values()): v.append(3)
for v in tuple(D.values()): v.append(3)
for v in D.values(): v.append(3)
return x * len(D['a'])
--
D['a'].append(9)
== mut_max
M = [[1],[2,3]]
--
max(M, key=len).append(3)
min(M).append(3)
return x * len(M[0])
--
M[0].append(9)
== mut_filter
M = [[1],[2,3]]
--
list(filter(None, M))[0].append(3)
return x * len(M[0])
--
M[0].append(9)
== mut_map
M = [[1],[2,3]]
--
list(map(lambda a: a.append(2), M))
return x * len(M[0])
--
M[0].append(9)
== mut_map_c
M = [[1],[2,3]]
--
list(map(list.append, M, [1, 2]))
return x * len(M[0])
--
M[0].append(9)
== mut_reduce
M = [[1],[2,3]]
--
functools.reduce(lambda a, b: a, M).append(2)
return x * len(M[0])
--
M[0].append(9)
== mut_reduce2
M = [[1],[2,3]]
--
return x * len(functools.reduce(operator.iadd, M)) + len(M[0])
--
M[0].append(9)
== mut_islice
M = [[1],[2,3]]
--
next(itertools.islice(M, 0, 1)).append(2)
return x * len(M[0])
--
M[0].append(9)
== mut_repeat
M = [1]
--
for m in itertools.repeat(M, 2): m.append(2)
return x * len(M)
--
M.append(9)
== mut_starmap
M = [1]
--
list(itertools.starmap(list.append, [(M, 2)]))
return x * len(M)
--
M.append(9)
== mut_product
M = [1]
--
for m, k in itertools.product([M], [1,2]): m.append(2)
return x * len(M)
--
M.append(9)
== mut_fromkeys
M = [1]
--
dict.fromkeys('ab', M)['a'].append(2)
return x * len(M)
--
M.append(9)
== mut_dictor
M = [1]
D = {'a': M}
--
(D | {})['a'].append(2)
({} | D)['a'].append(2)
return x * len(M)
--
M.append(9)
== mut_ordered
M = [1]
--
collections.OrderedDict([('a', M)])['a'].append(2)
collections.OrderedDict(a=M)['a'].append(2)
return x * len(M)
--
M.append(9)
== mut_default
M = [1]
--
collections.defaultdict(list, {'a': M})['a'].append(2)
return x * len(M)
--
M.append(9)
== mut_deque
M = [1]
--
collections.deque([M])[0].append(2)
return x * len(M)
--
M.append(9)
== mut_deque_out
M = collections.deque([[1],[2]])
--
collections.deque(M)[0].append(2)
M.copy()[0].append(2)
(M + M)[0].append(1)
return x * len(M[0])
--
M[0].append(9)
== mut_chainmap
M = [1]
--
collections.ChainMap({}, {'a': M})['a'].append(2)
return x * len(M)
--
M.append(9)
== mut_chainmap2
D = {}
--
m = collections.ChainMap(D)
m['k'] = 3
return x * len(D)
--
D.clear()
D['j'] = 9
== mut_nt
M = [1]
P = collections.namedtuple('P', 'a b')
--
P(M, 2).a.append(2)
P(M, 2)._replace(b=1).a.append(2)
P._make([M, 2]).a.append(2)
P(M, 2)._asdict()['a'].append(2)
return x * len(M)
--
M.append(9)
== mut_replace
@dataclasses.dataclass
class P:
    a: list
    b: int = 2
Q = P([1])
--
dataclasses.replace(Q, b=3).a.append(1)
return x * len(Q.a)
--
Q.a.append(9)
== mut_astuple
@dataclasses.dataclass
class P:
    a: list
    b: int = 2
Q = P([1])
--
dataclasses.astuple(Q)[0].append(1)
return x * len(Q.a)
--
Q.a.append(9)
== mut_listmul
M = [1]
--
([M] * 2)[0].append(1)
([M] + [3])[0].append(1)
return x * len(M)
--
M.append(9)
== mut_listadd
M = [[1]]
--
(M + [3])[0].append(1)
(M * 2)[0].append(1)
M[:][0].append(1)
M.copy()[0].append(1)
list(M)[0].append(1)
return x * len(M[0])
--
M[0].append(9)
== mut_tupadd
M = ([1],)
--
(M + (3,))[0].append(1)
(M * 2)[0].append(1)
M[:][0].append(1)
return x * len(M[0])
--
M[0].append(9)
== mut_set
class C: pass
A = C(); A.v = [1]
--
for a in {A}: a.v.append(1)
for a in frozenset([A]): a.v.append(1)
for a in set([A]) | {A}: a.w = 3
return x * len(A.v) * A.w
--
A.v.append(9)
A.w = 7
== mut_setout
class C: pass
A = C(); A.v = [1]
S = {A}
--
for a in S | set(): a.v.append(1)
for a in S.copy(): a.v.append(1)
for a in set(S): a.v.append(1)
for a in frozenset(S): a.v.append(1)
for a in sorted(S, key=id): a.v.append(1)
for a in S: a.w = 3
return x * len(A.v) * A.w
--
A.v.append(9)
A.w = 7
== setpop
class C: pass
A = C(); A.v = 1
S = {A}
--
for a in S.union([]): y = x * a.v
return y
--
A.v = 9
== setcopy
class C: pass
A = C(); A.v = 1
S = {A}
--
for a in S.copy(): y = x * a.v
return y
--
A.v = 9
== setof
class C: pass
A = C(); A.v = 1
S = {A}
--
for a in set(S): y = x * a.v
return y
--
A.v = 9
== setsorted
class C: pass
A = C(); A.v = 1
S = {A}
--
for a in sorted(S, key=lambda a: a.v): y = x * a.v
return y
--
A.v = 9
== setinter
class C: pass
A = C(); A.v = 1
S = frozenset([A])
--
for a in S & S: y = x * a.v
return y
--
A.v = 9
== setlist
class C: pass
A = C(); A.v = 1
S = {A}
--
y = x * list(S)[0].v + next(iter(S)).v + max(S, key=id).v + [*S][0].v
a, = S
return y * a.v
--
A.v = 9
== setpop2
class C: pass
A = C(); A.v = 1
S = {A}
--
a = S.pop()
S.add(a)
return x * a.v
--
A.v = 9
== settup
class C: pass
A = C(); A.v = 1
S = {(1, A)}
--
(_, a), = S
return x * a.v
--
A.v = 9
== dictkeysobj
class C: pass
A = C(); A.v = 1
S = {A: [1]}
--
for k, v in S.items(): y = x * k.v + v[0]
return y * list(S)[0].v + list(S.keys())[0].v + next(iter(S)).v
--
A.v = 9
S[A][0] = 3
S[A] = [6]
== dictkeysobj2
class C: pass
A = C(); A.v = 1
S = {A: [1]}
--
return x * list(S.keys())[0].v
--
A.v = 9
== dictkeysobj3
class C: pass
A = C(); A.v = 1
S = {A: [1]}
--
return x * list(S)[0].v
--
A.v = 9
== dictkeysobj4
class C: pass
A = C(); A.v = 1
S = {A: [1]}
--
for k in S: y = x * k.v
return y
--
A.v = 9
== dictkeysobj5
class C: pass
A = C(); A.v = 1
S = {A: [1]}
--
return x * (S.keys() & S.keys()).pop().v
--
A.v = 9
== dictkeysobj6
class C: pass
A = C(); A.v = 1
S = {A: [1]}
--
y = x * max(S, key=lambda a: a.v).v * dict(S).popitem()[0].v
return y * list(S.copy())[0].v * list({**S})[0].v * list(S | {})[0].v
--
A.v = 9
== dictkeysobj7
class C: pass
A = C(); A.v = 1
S = {A: [1]}
--
return x * list(collections.OrderedDict(S))[0].v * list(collections.defaultdict(list, S))[0].v
--
A.v = 9
== dictkeystuple
class C: pass
A = C(); A.v = 1
S = {(A, 2): [1]}
--
return x * list(S)[0][0].v
--
A.v = 9
== nparr_obj
A = np.array([[1], [2]], dtype=object)
--
return x * A[0][0]
--
A[0][0] = 4
A[0] = [6]
== nparr_obj2
A = np.array([[1], None], dtype=object)
--
return x * A.tolist()[0][0]
--
A[0][0] = 4
A[0] = [6]
== nparr_obj3
A = np.array([[1], None], dtype=object)
--
y = x * A.copy()[0][0] + A[:1][0][0] + A.ravel()[0][0] + A.item(0)[0]
return y + next(iter(A))[0] + list(A)[0][0] + next(A.flat)[0]
--
A[0][0] = 4
A[0] = [6]
== nparr_obj4
A = np.array([None, None], dtype=object)
A[0] = [1]
--
for a in A:
    if a: x = x * a[0]
return x
--
A[0][0] = 4
A[0] = [6]
== nparr_obj5
A = np.array([None, None], dtype=object)
A[0] = [1]
--
return x * np.concatenate([A, A])[0][0]
--
A[0][0] = 4
A[0] = [6]
== nparr_obj6
A = np.array([None, None], dtype=object)
A[0] = A[1] = NS(v=3)
--
return x * A[np.array([0, 1])][0].v + A[[0]][0].v + A[A != None][0].v
--
A[0].v = 5
== nparr_obj7
class C:
    def __init__(s, v): s.v = v
    def __add__(s, o): return C(s.v + o.v)
    def __radd__(s, o): return C(s.v + o)
A = np.array([C(1), C(2)])
--
return x * A.sum().v + sum(A).v
--
A[0].v = 5
C.__add__ = lambda s, o: C(s.v * o.v)
== large_list
M = [[i] for i in range(100)]
--
return x * list(itertools.chain(M))[3][0] + sorted(M)[0][0] + list(reversed(M))[0][0]
--
M[3][0] = 9
M[99][0] = 55
== large_dict
M = {i: [i] for i in range(100)}
--
return x * list(itertools.chain(M.values()))[3][0] + max(M.values())[0] + dict(M)[5][0]
--
M[3][0] = 9
M[99][0] = 555
M[5][0] = 2
== exc_mut
L = [1]
--
e = ValueError(L)
e.args[0].append(3)
return x * len(L)
--
L.append(2)
== mt_mut
L = [1]
def h(l, x):
    l.append(1)
    return x * len(l)
--
return types.MethodType(h, L)(x)
--
L.append(2)
== cell_mut
L = [1]
--
types.CellType(L).cell_contents.append(3)
return x * len(L)
--
L.append(2)
== obj_arr_mut
L = [1]
--
a = np.empty(1, object)
a[0] = L
a[0].append(2)
return x * len(L)
--
L.append(2)
== obj_arr_mut2
L = [1]
--
a = np.array([None, L], dtype=object)
a[1].append(2)
return x * len(L)
--
L.append(2)
== full_obj
L = [1]
--
a = np.full(2, None, dtype=object)
a.fill(L)
a[1].append(2)
return x * len(L)
--
L.append(2)
== ctxvar_mut
V = contextvars.ContextVar('v', default=[1])
--
V.get().append(2)
return x * len(V.get())
--
V.get().append(2)
V.set([1])
== ctxvar_set
V = contextvars.ContextVar('v', default=[1])
L = [4]
--
t = V.set(L)
y = x * V.get()[0]
V.reset(t)
return y * V.get()[0]
--
V.get()[0] = 4
L[0] = 8
V.set([1])
== tl_mut
T = threading.local()
T.a = [1]
--
T.a.append(2)
T.b = 4
return x * len(T.a) * T.b
--
T.a.append(2)
T.a = [5]
== userdict_mut
D = collections.UserDict(a=[1])
--
D['a'].append(2)
D['b'] = 3
return x * len(D['a']) * len(D)
--
D['a'].append(4)
D['c'] = [4]
== lru_mut
@functools.lru_cache
def h(k): return [k]
--
h(1).append(3)
return x * len(h(1))
--
h.cache_clear()
== singleton_mut
class C:
    inst = None
    def __new__(cls):
        if cls.inst is None:
            cls.inst = super().__new__(cls)
            cls.inst.n = 0
        return cls.inst
--
c = C()
c.n += 1
return x * c.n
--
C.inst = None
C().n = 8
== opaque_append
L = []
--
L.append(object())
return x * len(L)
--
L.clear()
== opaque_dict
L = {}
--
L['k'] = object()
return x * len(L)
--
L.clear()
== opaque_many
L = []
--
L.append(threading.Lock())
return x * len(L)
--
L.clear()
== opaque_many2
L = []
--
L.append(re.compile('a') if False else iter([1]))
return x * len(L)
--
L.clear()
== opaque_attr
class O: pass
--
O.lock = threading.RLock()
O.buf = io.StringIO()
O.dec = decimal.Decimal('1.5')
O.frac = fractions.Fraction(1, 2)
O.rng = range(3)
O.fn = functools.partial(max, 3)
return x
--
del O.lock
== opaque_prop
L = []
--
L.append(property(lambda s: 1))
L.append(memoryview(b'abc'))
L.append(array.array('d', [1.0]))
L.append(slice(1, x))
L.append(types.MappingProxyType({}))
L.append(collections.ChainMap({}))
L.append(weakref.WeakKeyDictionary())
return x * len(L)
--
L.clear()
== opaque_slots
class S:
    __slots__ = ('a',)
L = []
--
s = S()
s.a = x
L.append(s)
return x * len(L)
--
L.clear()
== opaque_gen
L = []
--
L.append(i for i in range(3))
return x * next(L[-1])
--
L.clear()
== default_list
L = [1]
def h(x, l=[1, 2]): return x * l[0]
--
return h(x)
--
h.__defaults__[0][0] = 5
== ns_mut
L = [1]
--
n = NS(a=L)
n.a.append(2)
n2 = NS(**{'b': L})
vars(n2)['b'].append(3)
return x * len(L)
--
L.append(3)
== dictsub_mut
class D(dict): pass
L = [1]
--
D(a=L)['a'].append(2)
D({'a': L})['a'].append(2)
return x * len(L)
--
L.append(3)
== listsub_mut
class D(list): pass
L = [1]
--
D([L])[0].append(2)
d = D()
d.append(L)
d[0].append(3)
d += [L]
d[1].append(4)
return x * len(L)
--
L.append(3)
== listsub_out
class D(list): pass
L = D([1])
M = [L]
--
return x * (3 if type(sorted(M)[0]) is D else 4) * len(L)
--
L.append(3)
M[0] = [1]
== exc_mut2
L = [1]
class E(Exception): pass
--
try:
    raise E(L)
except E as e:
    e.args[0].append(3)
e = E()
e.args = (L,)
e.args[0].append(2)
return x * len(L)
--
L.append(2)
== rem_while_iter
L = [1, 2, 3, 4]
--
for v in L:
    if v % 2: L.remove(v)
return x * len(L)
--
L.extend([5, 7])
== app_while_iter
L = [1, 2]
--
for v in L:
    if len(L) < 5: L.append(v)
return x * len(L) + L[-1]
--
L.clear()
L.append(7)
== zip_live
L = [1, 2]
--
z = zip(L, range(9))
L.append(7)
return x * sum(a for a, b in z)
--
L.clear()
L.extend([1, 2])
== chain_live
L = [1, 2]
--
z = itertools.chain(L)
L.append(7)
return x * sum(z)
--
L.clear()
L.extend([1, 2])
== map_live
L = [1, 2]
--
z = map(abs, L)
L.append(7)
return x * sum(z)
--
L.clear()
L.extend([1, 2])
== dict_live
D = {'a': 1}
--
v = D.values()
k = D.keys()
it = D.items()
D['b'] = 3
return x * sum(v) * len(k) * len(it)
--
D.clear()
D['a'] = 4
== view_out
D = {'a': 1}
V = D.values()
K = D.keys()
--
return x * sum(V) * len(K) + ('b' in K)
--
D['b'] = 3
D.clear()
== partial_live
L = [1]
--
p = functools.partial(len, L)
L.append(3)
return x * p()
--
L.clear()
== itemg_own
L = [1]
--
g = functools.partial(operator.getitem, [L])
g(0).append(2)
return x * len(L)
--
L.clear()
== enum_live
L = [[1], [2]]
--
for i, l in enumerate(L):
    l.append(i)
    L[i] = [9, 9, 9]
return x * sum(map(len, L))
--
L[0] = []
L[1] = []
== dq_rotate
Q = collections.deque([1, 2, 3])
--
Q.rotate(1)
return x * Q[0]
--
Q.append(9)
== sort_outside
L = [3, 1, 2]
--
L.sort()
return x * L[0]
--
L.append(0)
L[0] = 8
== sort_outside_key
L = [[3], [1]]
--
L.sort(key=lambda a: a[0])
L[0].append(4)
return x * L[0][0] + len(L[0])
--
L.append([0])
L[0][0] = 8
== counter_sub
C = collections.Counter(a=3)
--
C.subtract('a')
return x * C['a']
--
C['a'] = 9
== counter_upd
C = collections.Counter()
--
C.update({'a': 1})
return x * C['a']
--
C.clear()
C['a'] = 8
== counter_kw
C = collections.Counter()
--
C.update(a=1)
return x * C['a']
--
C.clear()
== defaultdict_out
C = collections.defaultdict(list)
--
C['k'].append(1)
return x * len(C['k'])
--
C.clear()
C['k'] = [3, 3]
== defaultdict_upd
C = collections.defaultdict(list)
--
C.update({'a': [1]})
C.update(b=[2])
C['a'].append(4)
return x * len(C['a']) * len(C)
--
C.clear()
C['c'] = [3, 3]
== dictsub_upd
class D(dict): pass
C = D()
--
C.update({'a': [1]})
C.update(b=[2])
C['a'].append(4)
return x * len(C['a']) * len(C)
--
C.clear()
C['c'] = [3, 3]
== dictsub_super
class D(dict):
    def __setitem__(s, k, v):
        super().__setitem__(k, [v])
    def update(s, *a, **k):
        super().update(*a, **k)
C = D()
--
C['q'] = 2
C.update({'a': [1]})
return x * len(C['a']) * len(C) * C['q'][0]
--
C.clear()
C['c'] = [3, 3]
== odict_upd
C = collections.OrderedDict()
--
C.update({'a': [1]})
C['b'] = 3
C.move_to_end('a')
return x * len(C['a']) * len(C) + (list(C)[0] == 'a')
--
C.clear()
C['c'] = [3, 3]
== listsub_super
class D(list):
    def append(s, v):
        super().append(v * 2)
C = D()
--
C.append(2)
C.extend([3])
C.insert(0, 4)
return x * sum(C)
--
C.clear()
C.append(3)
== setsub_super
class D(set):
    def add(s, v):
        super().add(v * 2)
C = D()
--
C.add(2)
return x * sum(C)
--
C.clear()
C.add(3)
== userdict_upd
C = collections.UserDict()
--
C.update({'a': 1})
C.setdefault('b', 5)
return x * C['a'] + len(C)
--
C.clear()
C['c'] = 1
== chainmap_upd
C = collections.ChainMap({}, {'a': 3})
--
C.update({'b': 1})
C['a'] = C['a'] + 1
return x * C['a'] + len(C)
--
C.clear()
C.maps[1]['a'] = 7
== mutmap
class M(collections.abc.MutableMapping):
    def __init__(s): s.d = {}
    def __getitem__(s, k): return s.d[k]
    def __setitem__(s, k, v): s.d[k] = v
    def __delitem__(s, k): del s.d[k]
    def __iter__(s): return iter(s.d)
    def __len__(s): return len(s.d)
C = M()
--
C.update({'b': 1})
C.setdefault('z', [3]).append(2)
C.pop('b')
return x * len(C['z']) + len(C)
--
C.clear()
C['p'] = 5
== heap_tuple
H = [(2, 'b'), (3, 'c')]
--
h = list(H)
heapq.heapify(h)
heapq.heappush(h, (1, 'a'))
y = x * heapq.heappop(h)[0] + heapq.heapreplace(h, (9, 'z'))[0]
return y + heapq.heappushpop(h, (0, 'q'))[0]
--
H[0] = (0, 'b')
== heap_out
H = [(2, 'b'), (3, 'c')]
--
heapq.heappush(H, (1, 'a'))
return x * heapq.heappop(H)[0] + len(H)
--
H[0] = (0, 'b')
H.clear()
H.append((7, 'z'))
== heap_objs2
class C:
    def __init__(s, v): s.v = v
    def __lt__(s, o): return s.v < o.v
A = C(3)
B = C(1)
--
h = []
heapq.heappush(h, A)
heapq.heappush(h, B)
return x * heapq.heappop(h).v
--
A.v = -4
B.v = 9
C.__lt__ = lambda s, o: s.v > o.v
== heap_objs_tuple
class C:
    def __init__(s, v): s.v = v
    def __lt__(s, o): return s.v < o.v
A = C(3)
B = C(1)
--
h = []
heapq.heappush(h, (1, A))
heapq.heappush(h, (1, B))
return x * heapq.heappop(h)[1].v
--
A.v = -4
B.v = 9
C.__lt__ = lambda s, o: s.v > o.v
== heap_lists
A = [3]
B = [1]
--
h = []
heapq.heappush(h, A)
heapq.heappush(h, B)
y = heapq.heappop(h)
y.append(3)
return x * y[0] + len(A) + len(B)
--
A[0] = -4
B[0] = 9
== heap_items_list
A = [3]
B = [1]
M = [A, B]
--
h = list(M)
heapq.heapify(h)
return x * h[0][0]
--
A[0] = -4
B[0] = 9
== insort_own
A = [3]
B = [1]
--
h = [B]
bisect.insort(h, A)
bisect.insort(h, [2])
return x * h[0][0] * h[1][0]
--
A[0] = -4
B[0] = 9
== insort_key
A = [3]
B = [1]
--
h = [B]
bisect.insort(h, A, key=lambda v: v[0])
return x * h[0][0]
--
A[0] = -4
B[0] = 9
== nlargest_key
M = [[1, 5], [2, 4]]
--
return x * heapq.nlargest(1, M, key=lambda v: v[1])[0][0]
--
M[1][1] = 8
M[0] = [7, 9]
== dc_order
@dataclasses.dataclass(order=True)
class P:
    a: int
    b: list = dataclasses.field(default_factory=list)
L = [P(2), P(1, [3])]
--
m = sorted(L)
return x * m[0].a + len(m[0].b)
--
L[0].a = 0
L[0].b.append(5)
== dc_heap
@dataclasses.dataclass(order=True)
class P:
    a: int
L = [P(2), P(1)]
--
m = list(L)
heapq.heapify(m)
return x * m[0].a
--
L[0].a = 0
L[1].a = -8
== total_order
@functools.total_ordering
class P:
    def __init__(s, a): s.a = a
    def __eq__(s, o): return s.a == o.a
    def __lt__(s, o): return s.a < o.a
L = [P(2), P(1)]
--
return x * (1 if L[0] >= L[1] else 2) + max(L).a + sorted(L)[0].a
--
L[0].a = 0
P.__lt__ = lambda s, o: s.a > o.a
== singledisp
@functools.singledispatch
def g(v, x): return x
@g.register(list)
def _(v, x): return x * v[0]
L = [3]
--
return g(L, x) + g(4, x)
--
L[0] = 7
g.register(int, lambda v, x: x * v)
== sort_own_lists
M = [[2], [1]]
--
m = list(M)
m.sort()
return x * m[0][0]
--
M[0][0] = -1
M[0] = [-6]
== dq_remove
M = [[2], [1]]
--
m = collections.deque(M)
m.remove([1])
return x * m[0][0] + len(m) + m.count([2])
--
M[0][0] = 1
M[1][0] = 9
M[0] = [-6]
== live_own
L = [1]
--
o = [L, [5]]
c = itertools.chain(o)
o.append([7])
return x * sum(v[0] for v in c)
--
L[0] = 4
== live_cycle
L = [1, 2]
--
y = x
for v, k in zip(L, itertools.count()):
    y = y * v
    if k == 0: L[1] = 5
return y
--
L[0] = 4
L[1] = 2
== dict_del_iter
D = {'a': 1, 'b': 2}
--
for k in list(D):
    if D[k] > 1: del D[k]
return x * len(D)
--
D['c'] = 1
D['d'] = 9
== dict_chg_iter
D = {'a': 1, 'b': 2}
--
for k, v in D.items():
    D[k] = v * 2 if v < 5 else 1
return x * sum(D.values())
--
D['c'] = 1
D['d'] = 9
== dict_grow_iter
D = {'a': 1, 'b': 2}
--
try:
    for k in D:
        D[k + 'x'] = 3
except RuntimeError:
    return x * len(D)
return x
--
D.clear()
== dq_grow_iter
D = collections.deque([1, 2])
--
try:
    for k in D:
        D.append(3)
except RuntimeError:
    return x * len(D)
return x
--
D.clear()
== set_grow_iter
D = {1, 2}
--
try:
    for k in D:
        D.add(k + 5)
except RuntimeError:
    return x * len(D)
return x
--
D.clear()
== p_trainer
@dataclasses.dataclass
class Config:
    lr: float = 0.1
    decay: float = 0.9
    act: object = np.tanh
class Trainer:
    steps = 0
    def __init__(s):
        s.cfg = Config(); s.hist = []; s.cache = {}
    @property
    def rate(s): return s.cfg.lr * s.cfg.decay ** s.steps
    def step(s, x):
        s.steps += 1
        y = s.cfg.act(x) * s.rate
        s.hist.append(y.sum())
        if len(s.hist) > 4: s.hist.pop(0)
        return y
T = Trainer()
--
return T.step(x)
--
T.cfg.lr = 0.2
T.cfg = Config(0.3, 0.8, np.sin)
T.cfg.act = np.cos
T.steps = 0
T.hist.clear()
Trainer.rate = property(lambda s: 2.0)
== p_lazy
class M:
    def __init__(s): s._w = None; s.n = 3
    @property
    def w(s):
        if s._w is None: s._w = np.arange(1.0, s.n + 1)
        return s._w
O = M()
--
return x * O.w
--
O._w = None
O._w = np.ones(3) * 4
O.__dict__['_w'] = np.ones(3) * 5
== p_lazydict
CACHE = {}
def table(n):
    try:
        return CACHE[n]
    except KeyError:
        CACHE[n] = np.arange(float(n)) + 1
        return CACHE[n]
--
return x * table(len(x))
--
CACHE.clear()
CACHE[3] = np.ones(3) * 7
CACHE = {3: np.zeros(3)}
== p_lruhelper
W = np.ones(3)
@functools.lru_cache(maxsize=None)
def basis(n, k): return np.arange(float(n)) ** k * W[0]
--
return x * basis(3, 2)
--
W[0] = 5
basis.cache_clear()
W = np.ones(3) * 2
== p_ctx
class Mode:
    cur = 'train'
    def __init__(s, m): s.m = m
    def __enter__(s): s.old = Mode.cur; Mode.cur = s.m; return s
    def __exit__(s, *e): Mode.cur = s.old
def layer(x): return x * 2 if Mode.cur == 'train' else x * 3
--
with Mode('eval'):
    y = layer(x)
return y + layer(x)
--
Mode.cur = 'other'
Mode.__enter__ = lambda s: setattr(s, 'old', Mode.cur) or s
== p_ctxgen
STATE = {'scale': 1.0}
@contextlib.contextmanager
def scaled(k):
    old = STATE['scale']
    STATE['scale'] = k
    try: yield STATE
    finally: STATE['scale'] = old
--
with scaled(3.0) as s:
    y = x * s['scale']
return y * STATE['scale']
--
STATE['scale'] = 5.0
STATE['scale'] = 2
== p_global
SCALE = 2.0
def get():
    global SCALE
    SCALE = SCALE * 0.5
    return SCALE
--
return x * get()
--
SCALE = 8.0
SCALE = 4
== p_tls
T = threading.local()
def scale(): return getattr(T, 'scale', 1.0)
--
return x * scale()
--
T.scale = 3.0
T.scale = 4
del T.scale
== p_cvar
V = contextvars.ContextVar('v', default=1.0)
--
return x * V.get()
--
V.set(3.0)
V.set(np.ones(3) * 2)
== p_weak
class N:
    def __init__(s, v): s.v = v
A = N(2.0)
R = weakref.ref(A)
P = weakref.proxy(A)
--
return x * (R().v if R() is not None else 0.0) + P.v
--
A.v = 3.0
A = N(9.0); R = weakref.ref(A); P = weakref.proxy(A)
== p_enum
class Mode(enum.Enum):
    A = 1
    B = 2
    @property
    def gain(s): return GAIN[s]
GAIN = {Mode.A: 2.0, Mode.B: 3.0}
CUR = Mode.A
--
return x * CUR.gain * (2 if CUR is Mode.A else 1) * CUR.value
--
CUR = Mode.B
GAIN[Mode.B] = 7.0
Mode.gain = property(lambda s: 1.5)
== p_flag
class F(enum.Flag):
    A = 1
    B = 2
CUR = F.A
--
return x * (2 if F.A in CUR else 1) * (3 if CUR & F.B else 1)
--
CUR = F.A | F.B
CUR = F(0)
== p_intenum
class F(enum.IntEnum):
    A = 1
    B = 2
CUR = F.A
--
return x * CUR + [10, 20, 30][CUR]
--
CUR = F.B
== p_slots
class P:
    __slots__ = ('a', 'b')
    def __init__(s, a, b): s.a = a; s.b = b
O = P(2.0, None)
--
if O.b is None: O.b = x.sum()
return x * O.a
--
O.a = 3.0
O.b = None
del O.b
== p_descr
class Field:
    def __set_name__(s, o, n): s.n = '_' + n
    def __get__(s, o, t=None): return s if o is None else getattr(o, s.n, 1.0) * s.k
    def __set__(s, o, v): setattr(o, s.n, v)
    k = 1.0
class M:
    w = Field()
O = M()
--
return x * O.w
--
O.w = 3.0
Field.k = 2.0
M.__dict__['w'].k = 4.0
O._w = 9
== p_meta
class Meta(type):
    reg = {}
    def __new__(m, n, b, d):
        c = super().__new__(m, n, b, d); m.reg[n] = c; return c
    @property
    def scale(c): return c._s
    def __call__(c, *a):
        o = super().__call__(*a); o.k = 2.0; return o
class A(metaclass=Meta):
    _s = 3.0
--
return x * A.scale * A().k * len(Meta.reg)
--
A._s = 4.0
class B(A): pass
Meta.scale = property(lambda c: 9.0)
== p_nonlocal
def make():
    n = 0
    buf = []
    def g(x):
        nonlocal n
        n += 1
        buf.append(n)
        return x * n + len(buf)
    def reset():
        nonlocal n
        n = 10
        buf.clear()
    return g, reset
G, RESET = make()
--
return G(x)
--
RESET()
== p_gen
def g():
    k = 1.0
    while True:
        r = yield k
        k = k * 2 if r is None else r
GEN = g()
next(GEN)
--
return x * next(GEN)
--
GEN.send(5.0)
GEN = g()
== p_paramsdict
W = np.ones((3, 3))
P = {'l1': {'w': W, 'b': np.zeros(3)}, 'l2': {'w': W * .5, 'b': np.ones(3)}}
--
h = x
for name, p in P.items():
    h = np.tanh(h @ p['w'] + p['b'])
return h
--
P['l3'] = {'w': np.eye(3), 'b': np.ones(3)}
del P['l2']
P['l1']['w'] = np.eye(3)
P = {'a': {'w': np.eye(3), 'b': np.ones(3)}}
P['a']['b'][0] = 9.0
== p_ema
class E:
    def __init__(s): s.m = {}; s.t = 0
    def __call__(s, k, v):
        s.t += 1
        s.m[k] = s.m.get(k, 0.0) * 0.9 + 0.1 * v
        return s.m[k] / (1 - 0.9 ** s.t)
O = E()
--
return O('x', x) + O('y', x * 2)
--
O.m.clear()
O.t = 0
O.m['x'] = np.ones(3)
== p_registry
REG = {}
def register(n):
    def d(f): REG[n] = f; return f
    return d
@register('a')
def fa(x): return x * 2
NAMES = ['a']
--
for n in NAMES: x = REG[n](x)
return x
--
NAMES.append('a')
REG['a'] = lambda x: x + 1
fa.__code__ = (lambda x: x * 9).__code__
REG['a'] = fa
== p_mixin
class Base:
    def f(s, x): return x * s.k
class Mix:
    def f(s, x): return super().f(x) + 1
class C(Mix, Base):
    k = 2.0
O = C()
--
return O.f(x)
--
C.k = 3.0
Mix.f = lambda s, x: x
del Mix.f
O.__class__ = type('D', (Base,), {'k': 7.0})
O.f = lambda x: x * 100
C.__bases__ = (Base,)
== p_getattr
class O_:
    def __getattr__(s, n):
        if n.startswith('w'): return TABLE[n]
        raise AttributeError(n)
TABLE = {'wa': 2.0}
O = O_()
--
return x * O.wa + getattr(O, 'zz', 1.0)
--
TABLE['wa'] = 3.0
O.wa = 5.0
O.zz = 7.0
O_.zz = 9.0
del O.zz
== p_defaults
def h(x, opts={'k': 1.0}, *, n=2): return x * opts['k'] * n
--
return h(x)
--
h.__defaults__[0]['k'] = 3.0
h.__kwdefaults__['n'] = 5
h.__defaults__ = ({'k': 9.0},)
== p_callable_list
class Scale:
    def __init__(s, k): s.k = k
    def __call__(s, x): return x * s.k
PIPE = [Scale(2.0), np.tanh, functools.partial(np.multiply, 3.0), lambda x: x + 1]
--
for op in PIPE: x = op(x)
return x
--
PIPE[0].k = 4.0
PIPE.reverse()
PIPE[1] = np.sin
Scale.__call__ = lambda s, x: x - s.k
== p_numlist
SCHED = [0.1, 0.2, 0.3]
I = [0]
--
k = SCHED[I[0] % len(SCHED)]
I[0] += 1
return x * k
--
SCHED.append(0.9)
I[0] = 0
SCHED[0] = 5
== p_modattr
M = types.ModuleType('mm')
M.k = 2.0
M.h = lambda x: x * M.k
--
return M.h(x)
--
M.k = 3.0
M.h = lambda x: x
M.__getattr__ = lambda n: 5.0; del M.k; M.h = lambda x: x * M.k
== p_abc
class A(abc.ABC):
    @abc.abstractmethod
    def f(s, x): ...
class B(A):
    def f(s, x): return x * s.k()
    def k(s): return 2.0
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def st(x): return x + 1
--
b = B.make()
return B.st(b.f(x)) * (2 if isinstance(b, A) else 3)
--
B.k = lambda s: 4.0
B.st = staticmethod(lambda x: x)
B.make = classmethod(lambda cls: B())
== p_str_keys
CFG = {'kind': 'relu', 'sizes': (3, 3), 'drop': None}
--
if CFG['kind'] == 'relu': y = np.maximum(x, 0)
elif CFG['kind'] in ('tanh', 'th'): y = np.tanh(x)
else: raise ValueError(f"unknown {CFG['kind']!r}")
return y * CFG['sizes'][0] * (0.5 if CFG.get('drop') else 1.0)
--
CFG['kind'] = 'th'
CFG['kind'] = 'nope'
CFG.update(kind='relu', drop=1)
CFG['sizes'] = (4, 3)
== p_match
CMD = {'op': 'mul', 'args': [2.0]}
--
match CMD:
    case {'op': 'mul', 'args': [k]}: return x * k
    case {'op': 'add', 'args': [a, *rest]}: return x + a + len(rest)
    case _: return x
--
CMD['op'] = 'add'
CMD['args'].append(3.0)
CMD = {'op': 'mul', 'args': [4]}
CMD = None
== p_matchcls
class Pt:
    __match_args__ = ('a', 'b')
    def __init__(s, a, b): s.a = a; s.b = b
O = Pt(1.0, 2.0)
--
match O:
    case Pt(a, 2.0): return x * a
    case Pt(a=a, b=b): return x * a + b
--
O.a = 4.0
O.b = 3.0
Pt.__match_args__ = ('b', 'a')
== p_walrus_compr
D = {'a': [1.0, 2.0], 'b': [3.0]}
--
t = {k: sum(v) for k, v in D.items() if (n := len(v)) > 1}
return x * sum(t.values()) + n + len({n for v in D.values() for n in v})
--
D['b'].append(4.0)
D['c'] = [1.0]
D['a'][0] = 9
== p_exc
ERR = [False]
LOG = []
def risky(x):
    if ERR[0]: raise ValueError('bad')
    return x * 2
--
try:
    y = risky(x)
except ValueError as e:
    LOG.append(str(e))
    y = x
else:
    LOG.append('ok')
finally:
    LOG.append('done')
return y
--
ERR[0] = True
ERR[0] = 0
LOG.clear()
== p_iterproto
class Seq:
    def __init__(s, items): s.items = items
    def __len__(s): return len(s.items)
    def __getitem__(s, i): return s.items[i]
class It:
    def __init__(s, n): s.n = n
    def __iter__(s):
        for i in range(s.n): yield W[i]
W = [1.0, 2.0, 3.0]
S = Seq(W)
O = It(2)
--
return x * sum(v for v in S) + sum(O) + S[-1] + len(S) + (2.0 in S)
--
W[0] = 4.0
O.n = 3
W.append(5.0)
S.items = [1.0]
== p_eq
class K:
    def __init__(s, v): s.v = v
    def __eq__(s, o): return s.v == o.v
    def __hash__(s): return hash(s.v)
D = {K(1): 2.0, K(2): 3.0}
--
return x * D[K(1)] + (K(2) in D) + (K(5) in list(D))
--
D[K(1)] = 7.0
K.__hash__ = lambda s: 0
list(D)[1].v = 5
== p_bool
class B:
    def __init__(s, v): s.v = v
    def __bool__(s): return s.v
    def __len__(s): return 3
O = B(True)
--
return x if O else -x
--
O.v = False
B.__bool__ = lambda s: True
del B.__bool__
== p_fmt
class B:
    def __init__(s, v): s.v = v
    def __format__(s, spec): return f'{s.v}' + spec
    def __str__(s): return 'x' * s.v
O = B(2)
D = {'xx': 2.0, 'xxx': 3.0}
--
return x * D.get(str(O), 1.0) * len(f'{O:ab}')
--
O.v = 3
B.__str__ = lambda s: 'q'
== p_setattr
class B:
    def __setattr__(s, n, v):
        object.__setattr__(s, n, v)
        object.__setattr__(s, 'count', getattr(s, 'count', 0) + 1)
O = B()
O.k = 1.0
--
O.k = O.k * 2
return x * O.k + O.count
--
O.k = 1.0
O.count = 0
B.__setattr__ = object.__setattr__
== p_del
D = {'a': 1.0}
class O_: pass
O = O_(); O.t = 3
--
if 't' in vars(O): del O.t
else: O.t = 5
k = D.pop('a', 2.0)
D['b'] = k + 1
return x * k
--
D['a'] = 5.0
O.t = 3
D.clear()
== p_random
RNG = np.random.default_rng(0)
import random
R = random.Random(3)
--
return x * RNG.normal() + R.random()
--
RNG = np.random.default_rng(5)
== p_nested_fn
K = 2.0
def outer(k):
    def inner(x): return x * k * K
    inner.tag = k
    return inner
F = outer(3.0)
--
return F(x) + F.tag
--
F.tag = 4.0
F = outer(5.0)
K = 1
== p_ring
BUF = np.zeros(4)
POS = 0
--
global POS
BUF[POS % 4] = x.sum()
POS += 1
return x * BUF.mean()
--
BUF[:] = 1.0
POS = 2
BUF = np.ones(4)
== p_structarr
A = np.zeros(2, dtype=[('a', float), ('b', float)])
A['a'] = 2.0
--
return x * A['a'][0] + A[1]['b']
--
A['a'][0] = 5.0
A['b'] = 3.0
== p_masked
A = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
--
return x * A.filled(0.0)
--
A[0] = 5.0
A.mask[0] = True
== p_strarr
A = np.array(['a', 'b'])
--
return x * (2.0 if A[0] == 'a' else 3.0) + list(A).count('b')
--
A[0] = 'z'
A[1] = 'q'
== p_matrixlist
WS = [np.eye(3), np.ones((3, 3))]
--
y = functools.reduce(lambda h, w: h @ w, WS, x) + sum(w.sum() for w in WS)
return y + np.linalg.multi_dot(WS)[0, 0]
--
WS.append(np.eye(3) * 2)
WS[0][0, 0] = 5.0
WS[0] = np.eye(3) * 3
== p_scalarnp
K = np.float64(2.0)
N = np.int64(3)
S = np.array(2.5)
--
return x * K ** N + S
--
K = np.float64(3.0)
N = np.int64(2)
S[...] = 4.0
S = np.array(1)
"""
