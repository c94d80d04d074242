"""How do people and programs reach lightsched? Over HTTP: the REST interface, its documents, and a page to look at.

    request → gate → endpoint → node.commands.submit / store / log → answer

Events and reports are decoded with the one model (`lightsched.event`); what is answered has its shape in `shapes`.
"""

from lightsched.api.app import make_app

__all__ = ["make_app"]
