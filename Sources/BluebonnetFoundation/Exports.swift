// Who imports this module gets the types that it is about with it.
@_exported public import Bluebonnet
@_exported public import FoundationNetworking
