/// Generates what a peer sends over HTTP/2 for an exchange.
struct HTTP2Grammar {
    let mark: ExchangeMark
    let families: Families
    /// Whether nothing may be sent that a client need not understand.
    let isTame: Bool
    let stream: UInt32

    /// A script for one request.
    func script(_ random: inout Random, spec: ResponseSpec) -> Script {
        if !isTame, families.has(.refusals), random.chance(8) { return refusal(&random) }
        let answer = ResponseGrammar(mark: mark, families: families).make(&random, spec: spec)
        // What has a length, or no body, may be complete without END_STREAM.
        let tellsLength = random.chance(50) || spec.isHead || answer.status == 204 || answer.status == 304
        var frames = frames(for: answer, spec: spec, tellsLength: tellsLength, &random)
        var script = Script("http/2 \(answer.label)", expectation: answer.expectation(spec), isClean: true)
        if !isTame, random.chance(45) {
            var mutation = HTTP2Mutation(mark: mark, families: families, stream: stream)
            if let name = mutation.apply(to: &frames, &random) {
                script.label += ", " + name
                script.expectation = mutation.makesIncomplete && !tellsLength ? .failure : .anything
                script.isClean = false
                script.misdirects = mutation.misdirects
            }
            if mutation.flood != nil || !mutation.after.isEmpty {
                script.steps = pieces(frames.flatMap(\.bytes), &random)
                if let flood = mutation.flood {
                    script.steps.insert(flood, at: random.chance(50) ? 0 : script.steps.count)
                }
                script.steps += mutation.after
                return script
            }
        }
        var bytes = frames.flatMap(\.bytes)
        if spec.hasBody, !random.chance(isTame ? 0 : 20) { script.steps.append(.awaitRequest) }
        if random.chance(10) { script.steps.append(.wait(milliseconds: random.pick([1, 5, 30, 120]))) }
        if !isTame, families.has(.mutation), random.chance(25) {
            bytes = Mutator.mutate(bytes, &random)
            script.label += ", mutated"
            script.misdirects = true
            script.expectation = .anything
            script.isClean = false
        }
        if !isTame, families.has(.cuts), random.chance(10) {
            let place = random.below(bytes.count)
            script.steps.append(.send(Array(bytes.prefix(place))))
            script.steps += random.pick([
                [.close], [.reset], [.wait(milliseconds: 5000)], [.halfClose, .wait(milliseconds: 200), .close],
            ])
            script.label += ", cut at \(place) of \(bytes.count)"
            if script.isClean { script.expectation = tellsLength ? .anything : .failure }
            script.isClean = false
        } else if bytes.count < 600, random.chance(spec.isSmall ? 0 : 6),
            !frames.contains(where: { $0.kind == .continuation })
        {
            // (The nghttp2 of Debian 12 counts the pieces of CONTINUATION frames as frames, and ends the connection.)
            script.steps.append(.dribble(bytes, every: random.below(3)))
        } else {
            script.steps += pieces(bytes, &random)
        }
        return script
    }

    /// A script that ends the request before a response.
    private func refusal(_ random: inout Random) -> Script {
        let before: [Step] = random.pick([[], [.awaitRequest], [.wait(milliseconds: 5)]])
        let last = stream > 1 ? stream - 2 : 0
        let code: UInt32 = random.pick([0, 0, 2, 11])
        let goAway = Step.send(HTTP2Frame.goAway(last: last, code).bytes)
        let reset = Step.send(HTTP2Frame.reset(stream, 7).bytes)
        let (name, steps, isRefusal): (String, [Step], Bool) = random.pick([
            ("refused", [reset], true), ("a GOAWAY below", [goAway], true),
            ("a GOAWAY below, and the end", [goAway, .close], true),
            (
                "refused with a closed window",
                [
                    .send(HTTP2Frame.settings([(4, 0)]).bytes), .wait(milliseconds: 20), reset,
                    .send(HTTP2Frame.settings([(4, 1 << 20)]).bytes),
                ], true
            ),
            ("the end", [.close], false), ("a dropped connection", [.reset], false),
            ("a half-closed connection", [.halfClose, .wait(milliseconds: 100), .close], false),
        ])
        var script = Script("http/2 \(name)", steps: before + steps)
        script.isRefusal = isRefusal
        return script
    }

    // MARK: Frames

    private func frames(for answer: PlannedResponse, spec: ResponseSpec, tellsLength: Bool, _ random: inout Random)
        -> [HTTP2Frame]
    {
        var frames: [HTTP2Frame] = []
        for interim in answer.interim {
            frames += headers([(":status", "\(interim.0)")] + interim.1, ends: false, &random)
        }
        let isBodiless = spec.isHead || answer.status == 204 || answer.status == 304
        var fields = [(":status", "\(answer.status)")] + answer.fields.filter { !$0.0.isEmpty }
        let coded = isBodiless ? [] : answer.body.coded
        if !isBodiless, tellsLength { fields.append(("content-length", "\(coded.count)")) }
        let trailers = !isBodiless && random.chance(10) ? [("x-trailer", mark.text)] : []
        let endsAtHead = coded.isEmpty && trailers.isEmpty && !random.chance(20)
        frames += headers(fields, ends: endsAtHead, &random)
        guard !endsAtHead else { return frames }
        frames += data(coded, ends: trailers.isEmpty, &random)
        if !trailers.isEmpty { frames += headers(trailers, ends: true, &random) }
        return frames
    }

    private func headers(_ fields: [(String, String)], ends: Bool, _ random: inout Random) -> [HTTP2Frame] {
        let block = FieldBlock.make(fields.map { ($0.0.lowercased(), $0.1) })
        var flags = ends ? HTTP2Frame.endStream : 0
        var sizes: [Int] = []
        if random.chance(15) { sizes = [random.below(block.count), random.below(block.count)].sorted() }
        if block.count > 16_000 { sizes = Array(stride(from: 16_000, to: block.count, by: 16_000)) }
        guard let first = sizes.first else {
            if random.chance(10) {
                flags |= HTTP2Frame.padded | HTTP2Frame.hasPriority
                let payload: [UInt8] = [3] + [0, 0, 0, 0, 16] + block + [0, 0, 0]
                return [
                    HTTP2Frame(kind: .headers, flags: flags | HTTP2Frame.endHeaders, stream: stream, payload: payload)
                ]
            }
            return [HTTP2Frame(kind: .headers, flags: flags | HTTP2Frame.endHeaders, stream: stream, payload: block)]
        }
        var frames = [HTTP2Frame(kind: .headers, flags: flags, stream: stream, payload: Array(block[..<first]))]
        for (index, start) in sizes.enumerated() {
            let end = index + 1 < sizes.count ? sizes[index + 1] : block.count
            frames.append(HTTP2Frame(kind: .continuation, stream: stream, payload: Array(block[start..<end])))
        }
        frames[frames.count - 1].flags |= HTTP2Frame.endHeaders
        return frames
    }

    private func data(_ bytes: [UInt8], ends: Bool, _ random: inout Random) -> [HTTP2Frame] {
        var frames: [HTTP2Frame] = []
        var rest = bytes[...]
        let small = bytes.count < 5000 && random.chance(30)
        while !rest.isEmpty {
            let count = min(rest.count, small ? random.number(in: 1...100) : 16_384)
            var frame = HTTP2Frame(kind: .data, stream: stream, payload: Array(rest.prefix(count)))
            if count < 16_000, random.chance(10) {
                let padding = random.below(200)
                frame.flags = HTTP2Frame.padded
                frame.payload = [UInt8(padding)] + frame.payload + [UInt8](repeating: 0, count: padding)
            }
            frames.append(frame)
            rest = rest.dropFirst(count)
        }
        if ends, frames.isEmpty || random.chance(20) { frames.append(HTTP2Frame(kind: .data, stream: stream)) }
        if ends { frames[frames.count - 1].flags |= HTTP2Frame.endStream }
        return frames
    }

    private func pieces(_ bytes: [UInt8], _ random: inout Random) -> [Step] {
        var steps: [Step] = []
        var rest = bytes[...]
        for _ in 0..<random.pick([0, 0, 0, 1, 3]) where rest.count > 1 && isTame == false {
            let count = random.below(rest.count)
            steps.append(.send(Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        return steps + [.send(Array(rest))]
    }
}
