"""Reads which membrane a component has: a predefined one, one from a file, or a description."""

from __future__ import annotations

from collections.abc import Callable

from gcm.adl.definitions import ComponentNode
from gcm.adl.findings import Findings
from gcm.adl.membranes.controller_files import ControllerFiles, is_default, names_file
from gcm.adl.plan import MembraneKind
from gcm.components import Controller, MembraneDescription
from gcm.documents import Location, did_you_mean
from gcm.errors import InstantiationError
from gcm.factory import described, made_by_template
from gcm.records import dataclass

_PRIMITIVE_TEMPLATES = ("primitiveTemplate", "parametricPrimitiveTemplate")
_COMPOSITE_TEMPLATES = ("compositeTemplate", "parametricCompositeTemplate")


@dataclass(slots=True)
class MembraneReader:
    """Reads the membrane of one component; `load` reports the classes that it cannot load."""

    node: ComponentNode
    path: str
    findings: Findings
    load: Callable[[str, Location], object]
    files: ControllerFiles

    def read(self) -> tuple[MembraneKind, object]:
        """Return the kind of the membrane, and its description if it is not predefined."""
        kind, description = self._named()
        self._check_parametric(kind, description)
        return kind, description

    def _named(self) -> tuple[MembraneKind, object]:
        implied = self._implied()
        controller = self.node.body.controller
        desc = controller.desc if controller else ""
        if controller is None or not desc:
            return implied, None
        if desc in list(MembraneKind):
            return self._filled(MembraneKind(desc)), None
        if names_file(desc):
            if is_default(desc):
                return implied, described(implied.value)
            return implied, self.files.describe(
                desc, described(implied.value), controller.location, self.path
            )
        if "." in desc or ":" in desc:
            return implied, self._description(desc, implied, controller.location)
        if (named := _kind_named(desc)) is not None:
            return self._filled(named), None
        words = [str(kind) for kind in MembraneKind]
        hint = did_you_mean(desc, words) or f"write {', '.join(words)} or a dotted Python name"
        self._report(
            "unknown-controller", f"there is no membrane '{desc}'", controller.location, hint
        )
        return implied, None

    def _implied(self) -> MembraneKind:
        """Return the membrane of a component that names none."""
        template = self.node.body.template_controller
        named = _kind_named(made_by_template(template.desc)) if template else None
        usual = MembraneKind.COMPOSITE if self.node.body.components else MembraneKind.PRIMITIVE
        return self._filled(usual if named is None else named)

    def _filled(self, kind: MembraneKind) -> MembraneKind:
        """Return the kind with attributes for a composite with a content, which holds them."""
        if kind is MembraneKind.COMPOSITE and self.node.body.content is not None:
            return MembraneKind.PARAMETRIC_COMPOSITE
        return kind

    def _check_parametric(self, kind: MembraneKind, description: object) -> None:
        """Report a composite whose own membrane gives no access to its content's attributes."""
        content = self.node.body.content
        if content is None or kind is not MembraneKind.PARAMETRIC_COMPOSITE:
            return
        known = getattr(description, "controllers", None)
        if known is not None and not any(one.name == "attribute" for one in known):
            message = f"the membrane of composite '{self.node.name}' has no attribute controller"
            hint = (
                "the content of a composite holds attributes: use .including(AttributeController)"
            )
            self._report("content-in-composite", message, content.location, hint)

    def is_template(self, kind: MembraneKind) -> bool:
        """Return whether the component is to be a template; an unsuitable one is reported."""
        template = self.node.body.template_controller
        if template is None:
            return False
        named = _kind_named(made_by_template(template.desc))
        if named is None or named.is_composite != kind.is_composite:
            words = _COMPOSITE_TEMPLATES if kind.is_composite else _PRIMITIVE_TEMPLATES
            hint = did_you_mean(template.desc, words) or f"write {' or '.join(words)}"
            message = (
                f"'{template.desc}' is not a template of a component such as '{self.node.name}'"
            )
            self._report("unknown-controller", message, template.location, hint)
        return True

    def _description(self, dotted: str, implied: MembraneKind, location: Location) -> object:
        found = self.load(dotted, location)
        missing = self.findings.missing
        if found is None and missing is not None and dotted in missing.stand_ins:
            missing.membranes[dotted] = implied.value
        if found is None or isinstance(found, MembraneDescription):
            return found
        hint = "name a gcm.MembraneDescription at the top of a module"
        if isinstance(found, type) and issubclass(found, Controller):
            usual = "COMPOSITE" if implied.is_composite else "PRIMITIVE"
            own, module = found.__name__.upper(), dotted.removesuffix(found.__name__)
            hint = (
                f"it is a controller: write {own} = {usual}.including({found.__name__}) below it, "
                f"and name '{module}{own}'"
            )
        self._report("not-a-membrane", f"'{dotted}' does not describe a membrane", location, hint)
        return None

    def _report(self, code: str, message: str, location: Location, hint: str) -> None:
        self.findings.report(code, message, location, self.path, hint=hint)


def _kind_named(desc: str) -> MembraneKind | None:
    """Return the kind of a predefined membrane, by its own name or its name in Fractal."""
    try:
        return MembraneKind(described(desc).name)
    except InstantiationError:
        return None
