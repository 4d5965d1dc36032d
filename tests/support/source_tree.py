"""The source of a package as syntax trees: who imports, calls and reads what.

Types are inferred as far as annotations and calls of the package say them, which strict mypy makes
nearly everywhere. So rules about private rows follow the rows, whatever a variable is called.
"""

import ast
import functools
from dataclasses import dataclass, field

# Calls that return what they are given.
_SAME = {"closing", "replace"}


def dotted(node):
    """`np.random.seed` for a chain of attributes; empty where it is not one."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def last_name(node):
    """`seed` for `np.random.seed`; empty where it is neither a name nor an attribute."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def names_in(annotation):
    """Every name of an annotation: {'Backend', 'None'} for `Backend | None`."""
    if annotation is None:
        return frozenset()
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval")
    return frozenset(last_name(node) for node in ast.walk(annotation)) - {""}


@dataclass
class Declared:
    """What the definitions of a file say about types, by the names of classes and functions."""

    members: dict = field(default_factory=dict)  # class -> field or method -> names of its type
    returned: dict = field(default_factory=dict)  # function or method -> names of its type
    taken: dict = field(default_factory=dict)  # function or class -> names of what it takes
    bases: dict = field(default_factory=dict)  # class -> names of its bases

    def merge(self, other):
        """Add what another file says."""
        for mine, theirs in (
            (self.returned, other.returned),
            (self.taken, other.taken),
            (self.bases, other.bases),
        ):
            for name, words in theirs.items():
                _add(mine, name, words)
        for name, members in other.members.items():
            self.members[name] = {**self.members.get(name, {}), **members}

    def takes(self, name):
        """The names of the types that a function or class takes, or a base of the class."""
        found = self.taken.get(name, frozenset())
        return found.union(*(self.takes(base) for base in self.bases.get(name, ())))

    def member(self, owner, name):
        """The names of the type of a field or method."""
        found = self.members.get(owner, {}).get(name, frozenset())
        return found.union(*(self.member(base, name) for base in self.bases.get(owner, ())))


@functools.cache
def declared(tree):
    found = Declared()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _add_function(found, node, node.name)
        if isinstance(node, ast.ClassDef):
            members = found.members.setdefault(node.name, {})
            _add(found.bases, node.name, frozenset(map(last_name, node.bases)) - {"", node.name})
            for part in node.body:
                if isinstance(part, ast.AnnAssign):
                    members[part.target.id] = names_in(part.annotation)
                    _add(found.taken, node.name, members[part.target.id])
                elif isinstance(part, ast.FunctionDef):
                    members[part.name] = names_in(part.returns)
                    if part.name == "__init__":
                        _add_function(found, part, node.name)
                        members |= _attributes(part)
    return found


def _add(table, name, words):
    table[name] = table.get(name, frozenset()) | words


def _add_function(found, node, name):
    _add(found.returned, node.name, names_in(node.returns))
    for argument in arguments(node):
        _add(found.taken, name, names_in(argument.annotation))


def arguments(node):
    given = node.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def _attributes(init):
    """The attributes that are set to a parameter of `__init__`."""
    types = {argument.arg: names_in(argument.annotation) for argument in arguments(init)}
    return {
        target.attr: types[node.value.id]
        for node in ast.walk(init)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id in types
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }


class Source:
    """The files of a package.

    Args:
        trees: The syntax tree of each file, by its path in the package.
    """

    def __init__(self, trees):
        self.trees, self._uses = trees, {}

    @classmethod
    def read(cls, root):
        """Return the source of a folder."""
        return cls(
            {
                path.relative_to(root).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
                for path in sorted(root.rglob("*.py"))
            }
        )

    def with_code(self, file, code):
        """Return the same source with code added to a file that defines nothing for others."""
        more = Source(
            {**self.trees, file: ast.Module([*self.trees[file].body, *ast.parse(code).body], [])}
        )
        more._uses = {key: found for key, found in self._uses.items() if key[0] != file}
        return more

    def imports(self, file):
        """Every module and name that a file imports, wherever in it, as full names."""
        return _imports(self.trees[file])

    def importing(self, module):
        """The files that import `module` or something of it."""
        return {
            file
            for file in self.trees
            if any(
                found == module or found.startswith(f"{module}.") for found in self.imports(file)
            )
        }

    def calls(self, file):
        """All calls of a file."""
        return [node for node in self.nodes(file) if isinstance(node, ast.Call)]

    def nodes(self, file):
        """All nodes of a file."""
        return _nodes(self.trees[file])

    def naming(self, *words):
        """The files in which one of the words is a name or an attribute, but for definitions."""
        return {
            file
            for file in self.trees
            for node in self.nodes(file)
            if isinstance(node, ast.Attribute | ast.Name) and last_name(node) in words
        }

    @functools.cached_property
    def declared(self):
        """What all files say about types."""
        whole = Declared()
        for tree in self.trees.values():
            whole.merge(declared(tree))
        return whole

    def uses(self, file, kinds):
        """How a file uses values of some classes.

        Returns:
            The attributes that are read of them; the calls of parameters that they are passed to;
            and all other uses but to name them, to pass them to what declares that it takes them,
            to return them and to compare them with None.
        """
        key = file, frozenset(kinds)
        if key not in self._uses:
            uses = _Uses(self.declared, frozenset(kinds))
            uses.follow(self.trees[file])
            self._uses[key] = uses.attributes, uses.callbacks, uses.strange
        return self._uses[key]


@functools.cache
def _nodes(tree):
    return tuple(ast.walk(tree))


@functools.cache
def _imports(tree):
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


class _Uses:
    """Follows values of some classes through one file."""

    def __init__(self, declared, kinds):
        self.declared, self.kinds = declared, kinds
        self.attributes, self.callbacks, self.strange = set(), set(), set()
        self.parents = {}

    def follow(self, tree):
        self.parents = {
            child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)
        }
        self._visit(tree, {})

    def _visit(self, node, scope):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            scope = {**scope, **self._parameters(node)}
        if isinstance(node, ast.FunctionDef | ast.Module):
            self._bind(node, scope)
        if isinstance(node, ast.expr) and self._type(node, scope) & self.kinds:
            parent = self.parents[node]
            if not (isinstance(parent, ast.Call) and node is parent.func):
                self._check(node, scope)
        for child in ast.iter_child_nodes(node):
            if child is not getattr(node, "returns", None) and not isinstance(child, ast.arg):
                self._visit(child, scope)

    def _parameters(self, node):
        types = {argument.arg: names_in(argument.annotation) for argument in arguments(node)}
        owner = self.parents.get(node)
        if isinstance(owner, ast.ClassDef) and "self" in types:
            types["self"] = frozenset({owner.name})
        return types

    def _bind(self, function, scope):
        """Give the names that a function assigns the types of their values, twice for chains."""
        nodes = list(_own_nodes(function))
        for _ in range(2):
            for node in nodes:
                for target, value in _bindings(node):
                    if isinstance(target, ast.Name):
                        found = self._type(value, scope)
                        scope[target.id] = scope.get(target.id, frozenset()) | found

    def _type(self, node, scope):  # noqa: PLR0911 (a case each)
        if isinstance(node, ast.Name):
            return scope.get(node.id, frozenset())
        if isinstance(node, ast.NamedExpr):
            return self._type(node.value, scope)
        if isinstance(node, ast.IfExp):
            return self._type(node.body, scope) | self._type(node.orelse, scope)
        if isinstance(node, ast.Attribute):
            return self._member(self._type(node.value, scope), node.attr)
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in _SAME and node.args:
                return self._type(node.args[0], scope)
            if name in self.declared.members:
                return frozenset({name})
            if isinstance(node.func, ast.Attribute):
                owner = self._type(node.func.value, scope) & self.declared.members.keys()
                if owner:
                    return self._member(owner, name)
            return self.declared.returned.get(name, frozenset())
        return frozenset()

    def _member(self, owners, name):
        return frozenset().union(*(self.declared.member(owner, name) for owner in owners))

    def _check(self, node, scope):
        parent = self.parents[node]
        if isinstance(parent, ast.keyword):
            parent = self.parents[parent]
        if isinstance(parent, ast.Attribute):
            self.attributes.add(parent.attr)
        elif isinstance(parent, ast.Call):
            self._check_call(parent, scope)
        elif not _is_named(node, parent):
            self.strange.add(ast.unparse(parent))

    def _check_call(self, call, scope):
        name = last_name(call.func)
        if "Callable" in self._type(call.func, scope):
            self.callbacks.add(ast.unparse(call))
        elif name not in _SAME and not self.declared.takes(name) & self.kinds:
            self.strange.add(ast.unparse(call))


def _own_nodes(function):
    """The nodes of a function, but not those of functions inside of it."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _bindings(node):
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=True)
            else:
                yield target, node.value
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def _is_named(node, parent):
    """Whether a value only gets a name, is returned, or is compared with None."""
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[0], ast.Is | ast.IsNot)
    kinds = (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.withitem, ast.Return, ast.IfExp)
    return isinstance(parent, kinds) or (isinstance(parent, ast.Lambda) and node is parent.body)
