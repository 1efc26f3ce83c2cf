"""Choose the plan of broadcasts between sites: name one of these classes in the descriptor."""

from runtime.collectives.choice import PlanChoice, Sites


class Row:
    way = "chain"

    def __init__(self, usual: PlanChoice) -> None:
        self.usual = usual

    def choose(self, operation: str, size: int | None, sites: Sites, plans: tuple[str, ...]) -> str:
        if operation == "Bcast" and self.way in plans:
            return self.way
        return self.usual.choose(operation, size, sites, plans)


class Tree(Row):
    way = "tree"
