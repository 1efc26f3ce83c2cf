"""Definitions: from the files that hold them to one tree of components without references."""

from gcm.adl.definitions.arguments import (
    ArgumentSyntaxError,
    escape,
    placeholder,
    quoted,
    split_values,
)
from gcm.adl.definitions.model import (
    AttributeNode,
    AttributesNode,
    BindingNode,
    Body,
    CommentNode,
    ComponentNode,
    ComposingVirtualNode,
    ContentNode,
    ControllerNode,
    CoordinatesNode,
    Definition,
    ExportedVirtualNode,
    InterfaceNode,
    LoggerNode,
    TemplateControllerNode,
    VirtualNodeNode,
)
from gcm.adl.definitions.references import absolute, is_path, relative_to_parents
from gcm.adl.definitions.repeats import report_repeated_components
from gcm.adl.definitions.resolve import INCOMPLETE, DefinitionDocument, Resolver, same_definition
from gcm.adl.definitions.sources import FileLoader, Source, implied_root

__all__ = [
    "INCOMPLETE",
    "ArgumentSyntaxError",
    "AttributeNode",
    "AttributesNode",
    "BindingNode",
    "Body",
    "CommentNode",
    "ComponentNode",
    "ComposingVirtualNode",
    "ContentNode",
    "ControllerNode",
    "CoordinatesNode",
    "Definition",
    "DefinitionDocument",
    "ExportedVirtualNode",
    "FileLoader",
    "InterfaceNode",
    "LoggerNode",
    "Resolver",
    "Source",
    "TemplateControllerNode",
    "VirtualNodeNode",
    "absolute",
    "escape",
    "implied_root",
    "is_path",
    "placeholder",
    "quoted",
    "relative_to_parents",
    "report_repeated_components",
    "same_definition",
    "split_values",
]
