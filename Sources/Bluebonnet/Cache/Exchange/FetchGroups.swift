import FoundationEssentials

/// Groups equal fetches, so that only one of each group, the leader, asks the server (RFC 9111 §4).
///
/// This is a value type without I/O. The other members of a group follow: they wait until their leader leaves the
/// group.
struct FetchGroups<Member: AnyObject> {
    private struct Group {
        var leader: ObjectIdentifier
        var followers: [ObjectIdentifier: Member] = [:]
    }

    /// The members that go on because their leader has left.
    enum Released {
        case none
        /// A follower that is the leader now.
        case leader(Member)
        /// All followers; the group is gone.
        case all([Member])
    }

    private var groups: [FetchKey: Group] = [:]
    private var keys: [ObjectIdentifier: FetchKey] = [:]

    /// Whether a group with this key exists.
    func contains(_ key: FetchKey) -> Bool { groups[key] != nil }

    /// Adds a member to the group of a key; returns whether it leads.
    mutating func join(_ member: Member, _ key: FetchKey) -> Bool {
        let id = ObjectIdentifier(member)
        keys[id] = key
        guard groups[key] != nil else {
            groups[key] = Group(leader: id)
            return true
        }
        groups[key]?.followers[id] = member
        return false
    }

    /// Removes a member, if it is in a group.
    ///
    /// - Parameters:
    ///   - member: The member to remove.
    ///   - handsOn: Whether a follower becomes the leader; otherwise, the group ends.
    /// - Returns: The members that go on.
    mutating func leave(_ member: Member, handsOn: Bool) -> Released {
        let id = ObjectIdentifier(member)
        guard let key = keys.removeValue(forKey: id), var group = groups.removeValue(forKey: key) else { return .none }
        guard group.leader == id else {
            group.followers[id] = nil
            groups[key] = group
            return .none
        }
        if handsOn, let next = group.followers.popFirst() {
            group.leader = next.key
            groups[key] = group
            return .leader(next.value)
        }
        for id in group.followers.keys { keys[id] = nil }
        return group.followers.isEmpty ? .none : .all(Array(group.followers.values))
    }

    /// Whether a member waits for its leader.
    func follows(_ member: Member) -> Bool {
        let id = ObjectIdentifier(member)
        return keys[id].flatMap { groups[$0] }.map { $0.leader != id } ?? false
    }
}

/// Identifies equal fetches.
enum FetchKey: Hashable, Sendable {
    /// Requests that are equal on the wire and have the same options.
    case request(EqualRequest)
    /// Validations of the same stored response that no request waits for.
    case validation(CacheKey, selector: Data)
}

/// The parts of a request that equal requests share.
struct EqualRequest: Hashable, Sendable {
    private let key: CacheKey
    private let userInfo: String?
    private let headers: HTTPHeaders
    private let policy: HTTPRequest.CachePolicy?
    private let timeouts: Timeouts
    private let credential: Credential?
    private let proxy: Session.Configuration.Proxy?
    private let version: HTTPVersionPreference?
    private let priority: HTTPPriority?
    private let flags: [Bool]

    init(_ request: HTTPRequest, key: CacheKey) {
        self.key = key
        userInfo = request.url.userInfo
        headers = request.headers.sorted()
        policy = request.cachePolicy
        timeouts = request.timeouts
        credential = request.credential
        proxy = request.proxy
        version = request.httpVersion
        priority = request.priority
        flags = [request.handlesCookies, request.omitsSessionSecrets, request.keepsUnacceptedCodings]
    }
}
