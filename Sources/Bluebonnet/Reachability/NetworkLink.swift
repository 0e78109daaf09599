import CSystem

/// A link of the machine to a network, as the kernel describes it.
struct NetworkLink: Hashable, Sendable {
    var number: UInt32
    /// Such as `eth0`.
    var name = ""
    /// The kind of a link that is made by software or its driver, such as `wwan`, `veth`, `wireguard`.
    var kind = ""
    /// What packets look like on it: the number of `ARPHRD_ETHER` and so on.
    var hardware: UInt16 = 1
    /// Whether somebody switched it on.
    var isUp = true
    /// Whether packets can be sent on it: the cable is in, the radio is connected.
    var isRunning = true
    var isLoopback = false

    /// Whether it leads to a mobile network, as far as that can be seen.
    ///
    /// Seen by the kind (`wwan`, `rmnet`), by packets without a frame around them, as modems have them, or by the name:
    /// the kernel calls a modem `wwan0`, systemd `ww` and its place, some drivers of telephones `rmnet` or `ccmni`. A
    /// telephone line (`ppp0`), a telephone's hotspot and a tunnel through a mobile network cannot be told from others.
    var isCellular: Bool {
        ["wwan", "rmnet"].contains(kind) || [Self.rawIP, Self.rmnet].contains(hardware)
            || ["ww", "rmnet", "ccmni"].contains { name.hasPrefix($0) }
    }

    private static let rawIP: UInt16 = 519
    private static let rmnet: UInt16 = 530
}

extension NetworkLink {
    /// Reads the body of a message about a link; `nil` if it is too short for that.
    init?(_ body: ArraySlice<UInt8>) {
        // A family and a byte to fill up, the hardware, the number, the flags, and which of these changed.
        guard let hardware: UInt16 = body.number(at: 2), let number: UInt32 = body.number(at: 4),
            let flags: UInt32 = body.number(at: 8), body.count >= 16
        else { return nil }
        self.init(
            number: number, hardware: hardware, isUp: flags & bb_iff_up != 0, isRunning: flags & bb_iff_running != 0,
            isLoopback: flags & bb_iff_loopback != 0)
        for (type, value) in NetlinkAttributes(body, after: 16) {
            switch type {
            case bb_ifla_name: name = value.text
            case bb_ifla_info: kind = NetlinkAttributes(value).first { $0.type == bb_ifla_info_kind }?.value.text ?? ""
            default: break
            }
        }
    }

    /// The body of a question for a link.
    static func question(_ number: UInt32) -> [UInt8] {
        var body = [UInt8](repeating: 0, count: 4)
        body.append(number: number)
        body += [UInt8](repeating: 0, count: 8)
        return body
    }
}
