"""From definitions that refer to each other to one tree of components without references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gcm.adl.definitions.arguments import (
    ArgumentSyntaxError,
    DefinitionCall,
    DefinitionParameter,
    bind_arguments,
    parse_calls,
    parse_parameters,
    placeholder,
    substitute_node,
)
from gcm.adl.definitions.attribute_interface import attribute_interface, with_signature_of
from gcm.adl.definitions.grammar import MAX_DEPTH, definition_of, read_definition
from gcm.adl.definitions.growth import DefinitionAmount, Growth, TooLarge, check_size
from gcm.adl.definitions.merge import merge_all
from gcm.adl.definitions.model import EMPTY_BODY, Body, ComponentNode, ControllerNode
from gcm.adl.definitions.references import is_path, relative_to_parents
from gcm.adl.definitions.repeats import report_repeats
from gcm.adl.definitions.sources import FileLoader, Source
from gcm.documents import Diagnostics, Location, XmlNode, did_you_mean
from gcm.records import dataclass

Arguments = tuple[tuple[str, str], ...]
_Key = tuple[str, Arguments]


@dataclass(frozen=True, slots=True)
class DefinitionDocument:
    """A definition that was read: its nodes, and the arguments that it declares."""

    node: XmlNode
    parameters: tuple[DefinitionParameter, ...]
    size: int = 1
    """How many elements it has."""

    @property
    def name(self) -> str:
        """The name that the definition gives itself."""
        return self.node.attributes["name"]


INCOMPLETE = "?"
"""Replaces the definition of a resolved component of which a part was not found."""


class Resolver:
    """Resolves the definitions of one assembly, each (definition, arguments) only once.

    All errors go to the diagnostics; what cannot be found is left out of the result.
    """

    def __init__(self, loader: FileLoader, diagnostics: Diagnostics) -> None:
        self._loader = loader
        self._diagnostics = diagnostics
        self._documents: dict[str, DefinitionDocument | None] = {}
        self._merged: dict[_Key, Body] = {}
        self._expanded: dict[tuple[_Key, ...], Body] = {}
        self._extending: list[_Key] = []
        self._nesting: list[tuple[tuple[_Key, ...], Body]] = []
        self._incomplete: set[_Key] = set()
        self._reported: set[tuple[str, Location]] = set()
        self._depth = 0
        self._growth = Growth()
        self.missing: set[str] = set()
        """The placeholders for arguments without a value."""

    def document(self, source: Source) -> DefinitionDocument | None:
        """Read a definition, or return it if it was read before."""
        if source.file not in self._documents:
            self._documents[source.file] = self._read(source)
        return self._documents[source.file]

    def names(self) -> dict[str, str]:
        """Return the name of the definition in each file that was read."""
        return {file: one.name for file, one in self._documents.items() if one is not None}

    def root(self, source: Source, arguments: Mapping[str, str]) -> ComponentNode | None:
        """Return the tree of the assembly that a document describes."""
        document = self.document(source)
        if document is None:
            return None
        call = DefinitionCall(document.name, (), tuple(arguments.items()))
        key = self._key(source, document, call, document.node.location)
        name = document.name.rpartition(".")[2]
        try:
            body = self._expand((key,), EMPTY_BODY, document.node.location)
            definition = INCOMPLETE if key in self._incomplete else ""
            root = ComponentNode(name, definition, body or EMPTY_BODY, document.node.location)
            check_size(root)
        except TooLarge as fault:
            self._report("too-large", str(fault), fault.location, fault.hint)
            return None
        return root

    def _read(self, source: Source) -> DefinitionDocument | None:
        data = source.file if source.data is None else source.data
        node = read_definition(data, name=source.file, diagnostics=self._diagnostics)
        if node is None:
            return None
        report_repeats(node, self._diagnostics)
        try:
            parameters = parse_parameters(node.attributes.get("arguments", ""))
        except ArgumentSyntaxError as error:
            self._report("malformed-arguments", str(error), node.location, 'write "a,b=5"')
            parameters = ()
        return DefinitionDocument(node, parameters, _size(node))

    # ------------------------------------------------------------------ references to definitions

    def _keys(self, text: str, location: Location) -> tuple[tuple[_Key, ...], bool]:
        """Find the definitions that `extends` or `definition` lists; return whether all exist."""
        try:
            calls = parse_calls(text) if text else ()
        except ArgumentSyntaxError as error:
            hint = "write Def(1,'q') or Def(a=>1)"
            self._report("malformed-reference", str(error), location, hint)
            return (), False
        found = [self._find(call, location) for call in calls]
        keys = tuple([key for key in found if key is not None])
        return keys, len(keys) == len(found)

    def _find(self, call: DefinitionCall, location: Location) -> _Key | None:
        candidates = self._loader.candidates(call.name, location.file)
        for source in candidates:
            document = self.document(source)
            if document is None:
                return None
            if same_definition(call.name, document.name):
                return self._key(source, document, call, location)
        if not candidates:
            hint = did_you_mean(call.name, self._loader.known(location.file))
            hint = hint or "give its folder with --path, or correct the name"
            message = f"there is no definition '{call.name}'"
            looked_at = self._looked_at(call.name, location)
            self._report_once("missing-definition", message, location, hint, looked_at)
            return None
        return self._misnamed(call, candidates[0], location)

    def _misnamed(self, call: DefinitionCall, source: Source, location: Location) -> _Key | None:
        """Use the best file although its definition has another name, which is reported."""
        document = self.document(source)
        assert document is not None, "it was just read"
        others = self._loader.candidates(call.name, location.file)[1:]
        message = f"'{call.name}' is looked for in {source.file}, which holds '{document.name}'"
        if (message, document.node.location) not in self._reported:
            self._reported.add((message, document.node.location))
            hint = f'write name="{call.name}" in {document.node.location}, or rename that file'
            looked_at = self._looked_at(call.name, location) if others else ""
            self._report("definition-name", message, location, hint, looked_at)
        return self._key(source, document, call, location)

    def _looked_at(self, name: str, location: Location) -> str:
        """List each file that may contain a definition, and the name of the one in it."""
        there = {one.file: one for one in self._loader.candidates(name, location.file)}
        lines = []
        for file in self._loader.looked_at(name, location.file):
            document = self.document(there[file]) if file in there else None
            lines.append(f"{file}  (holds '{document.name}')" if document else file)
        return "\n".join(["looked at:", *lines]) if lines else ""

    def _key(
        self, source: Source, document: DefinitionDocument, call: DefinitionCall, location: Location
    ) -> _Key:
        values, faults = bind_arguments(document.parameters, call)
        given = {name for name, _ in call.named}
        missing = [p.name for p in document.parameters[len(call.positional) :] if p.default is None]
        self.missing |= {placeholder(name) for name in missing if name not in given}
        for fault in faults:
            self._report_once(fault.code, fault.message, location, fault.hint)
        return source.file, tuple(values.items())

    # ------------------------------------------------------------------------------ extends

    def _merge(self, key: _Key) -> Body:
        """Return a definition with all that it extends, its components not yet resolved."""
        if key not in self._merged:
            document = self._documents[key[0]]
            assert document is not None, "a key is made for documents that were read"
            if key in self._extending:
                chain = [*self._extending[self._extending.index(key) :], key]
                self._cycle("extends", "extends-cycle", chain, document.node.location)
                self._incomplete.add(key)
                return EMPTY_BODY
            if len(self._extending) + self._depth >= MAX_DEPTH:
                self._too_deep(document.node.location, "definitions extend each other")
                self._incomplete.add(key)
                return EMPTY_BODY
            self._extending.append(key)
            self._merged[key] = self._merge_new(key, document)
            self._extending.pop()
        return self._merged[key]

    def _merge_new(self, key: _Key, document: DefinitionDocument) -> Body:
        values = dict(key[1])
        self._growth.add(DefinitionAmount.USES, 1, document.node.location)
        self._growth.add(DefinitionAmount.PARTS, document.size, document.node.location)
        node, unknown = substitute_node(document.node, values, self._growth)
        for element, name in unknown:
            self._report_once(
                "unknown-argument",
                f"<{element.tag}> uses '${{{name}}}', which is no argument of '{document.name}'",
                element.location,
                did_you_mean(name, values) or "declare it in the definition's 'arguments'",
            )
        definition = definition_of(node)
        body = relative_to_parents(definition.body)
        bases, complete = self._keys(definition.extends, definition.location)
        merged = self._merged_of(bases, body, definition.location)
        if not complete or not self._incomplete.isdisjoint(bases):
            self._incomplete.add(key)
        return merged

    def _merged_of(self, keys: Sequence[_Key], own: Body, location: Location) -> Body:
        bodies = [own]
        for key in keys:
            bodies.insert(-1, self._merge(key))
            if len(keys) > 1:  # a single body is not copied
                self._growth.add(DefinitionAmount.MERGED, 1 + len(bodies[-2].components), location)
        return merge_all(bodies)

    # ------------------------------------------------------------------------------ components

    def _expand(self, keys: tuple[_Key, ...], own: Body, location: Location) -> Body | None:
        """Merge definitions and a component's own body, then resolve the components in it.

        Returns nothing where that would not end.
        """
        alone = own is EMPTY_BODY
        if alone and keys in self._expanded:
            return self._expanded[keys]
        if self._depth >= MAX_DEPTH:
            self._too_deep(location, "components are nested")
            return None
        # What a component adds to its definition may use that definition again; only adding the
        # same inside itself is endless.
        if keys and (keys, own) in self._nesting:
            start = self._nesting.index((keys, own))
            chain = [nested[0] for nested, _ in self._nesting[start:]]
            self._cycle("contains", "definition-cycle", [*chain, keys[0]], location)
            return None
        merged = self._merged_of(keys, own, location)
        self._nesting += [(keys, own)] if keys else []
        self._depth += 1
        body = self._resolve_components(self._resolve_attributes(merged))
        self._depth -= 1
        if keys:
            self._nesting.pop()
        if alone:
            self._expanded[keys] = body
        return body

    def _resolve_attributes(self, body: Body) -> Body:
        declared = attribute_interface(body)
        if declared is None:
            return body
        written = body.attributes
        if written and written.signature and declared.signature not in ("", written.signature):
            self._report_once(
                "attribute-signature",
                f"interface '{declared.name}' has the signature '{declared.signature}', and"
                f" <attributes> in line {written.location.line} has '{written.signature}'",
                declared.location,
                "write the same signature in both, or leave the interface out",
            )
        return with_signature_of(body, declared)

    def _resolve_components(self, body: Body) -> Body:
        controller: ControllerNode | None = body.controller
        if controller is not None and controller.components:
            inside = self._each(controller.components)
            controller = replace(controller, components=inside)
        if not body.components and controller is body.controller:
            return body
        return replace(body, components=self._each(body.components), controller=controller)

    def _each(self, components: Sequence[ComponentNode]) -> tuple[ComponentNode, ...]:
        return tuple([self._component(component) for component in components])

    def _component(self, component: ComponentNode) -> ComponentNode:
        self._growth.add(DefinitionAmount.COMPONENTS, 1, component.location)
        if is_path(component.definition):
            if component.body is not EMPTY_BODY:
                self._report_once(
                    "shared-with-body",
                    f"component '{component.name}' is a shared one and cannot be changed here",
                    component.location,
                    f"change it where it is defined, at {component.definition}",
                )
            return component
        keys, complete = self._keys(component.definition, component.location)
        body = self._expand(keys, component.body, component.location)
        missing = body is None or not complete or not self._incomplete.isdisjoint(keys)
        definition = INCOMPLETE if missing else ""
        return replace(component, definition=definition, body=body or EMPTY_BODY)

    # ------------------------------------------------------------------------------ reports

    def _cycle(self, verb: str, code: str, chain: list[_Key], location: Location) -> None:
        documents = (self._documents[file] for file, _ in chain)
        names = [document.name for document in documents if document is not None]
        hint = "take one of these references out"
        self._report_once(code, f" {verb} ".join(names), location, hint)

    def _too_deep(self, location: Location, what: str) -> None:
        message = f"{what} more than {MAX_DEPTH} deep"
        self._report_once("too-deep", message, location, "make the structure flatter")

    def _report_once(
        self, code: str, message: str, location: Location, hint: str, detail: str = ""
    ) -> None:
        # A definition is used many times, its errors are reported once.
        if (code + message, location) not in self._reported:
            self._reported.add((code + message, location))
            self._report(code, message, location, hint, detail)

    def _report(
        self, code: str, message: str, location: Location, hint: str, detail: str = ""
    ) -> None:
        self._diagnostics.report(code, message, location, hint=hint, detail=detail)


def _size(node: XmlNode) -> int:
    return 1 + sum(map(_size, node.children))


def same_definition(asked: str, found: str) -> bool:
    """Return whether a definition named `found` may be loaded as `asked`.

    Two full dotted names must be equal; where one of them is short, the last parts must be.
    """
    if "." in asked and "." in found:
        return asked == found
    return asked.rpartition(".")[2] == found.rpartition(".")[2]
