// swift-tools-version: 6.2
import PackageDescription

/// The settings of every Swift target: language mode 6, plus what the language will make the default.
let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .strictMemorySafety(),  // SE-0458
        .enableUpcomingFeature("ExistentialAny"),  // SE-0335
        .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
        .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
        .enableUpcomingFeature("InferIsolatedConformances"),  // SE-0470
        .enableUpcomingFeature("ImmutableWeakCaptures"),  // SE-0481
    ] + strictness

/// The settings of the test targets: tests may use deprecated names without a failure to build.
let testSettings = settings + [.treatWarning("DeprecatedDeclaration", as: .warning)] + testLeniency

// Warnings are errors for the compilers that were tried. A newer one may have more warnings, which must not keep a
// package that depends on this one by a path from building.
#if compiler(<6.4)
    var strictness: [SwiftSetting] { [.treatAllWarnings(as: .error)] }
#else
    var strictness: [SwiftSetting] { [] }
#endif

// The testing library of Swift 6.2 passes operands of `#require` on without their `unsafe`.
#if compiler(<6.3)
    var testLeniency: [SwiftSetting] { [.treatWarning("StrictMemorySafety", as: .warning)] }
#else
    var testLeniency: [SwiftSetting] { [] }
#endif

/// The packages of a C library in distributions that use apt or yum.
func packages(_ apt: String, _ yum: String) -> [SystemPackageProvider] { [.apt([apt]), .yum([yum])] }

let package = Package(
    name: "Bluebonnet",
    products: [
        .library(name: "Bluebonnet", targets: ["Bluebonnet"]),
        .library(name: "BluebonnetReachability", targets: ["BluebonnetReachability"]),
        .library(name: "BluebonnetFoundation", targets: ["BluebonnetFoundation"]),
        .library(name: "BluebonnetCallbacks", targets: ["BluebonnetCallbacks"]),
        .library(name: "BluebonnetCompatibility", targets: ["BluebonnetCompatibility"]),
        .library(name: "BluebonnetTesting", targets: ["BluebonnetTesting"]),
        .executable(name: "BluebonnetBench", targets: ["BluebonnetBench"]),
    ],
    targets: [
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: packages("libcurl4-openssl-dev", "libcurl-devel")),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: packages("libssl-dev", "openssl-devel")),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: packages("zlib1g-dev", "zlib-devel")),
        .systemLibrary(name: "CSystem"),
        .target(name: "BluebonnetLibc", swiftSettings: settings),
        // Names of other libraries, which are not available and say which name to use.
        .target(name: "BluebonnetOtherNames", swiftSettings: settings),
        .target(
            name: "Bluebonnet",
            dependencies: ["BluebonnetLibc", "BluebonnetOtherNames", "CCurl", "COpenSSL", "CZlib", "CSystem"],
            swiftSettings: settings),
        .target(
            name: "BluebonnetReachability", dependencies: ["Bluebonnet", "BluebonnetLibc", "CSystem"],
            swiftSettings: settings),
        .target(name: "BluebonnetFoundation", dependencies: ["Bluebonnet"], swiftSettings: settings),
        .target(
            name: "BluebonnetCallbacks", dependencies: ["Bluebonnet", "BluebonnetFoundation"], swiftSettings: settings),
        .target(
            name: "BluebonnetCompatibility", dependencies: ["BluebonnetCallbacks", "BluebonnetReachability"],
            swiftSettings: settings),
        .target(
            name: "BluebonnetTesting",
            dependencies: ["Bluebonnet", "BluebonnetLibc", "BluebonnetOtherNames", "CSystem"],
            swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["Bluebonnet", "BluebonnetTesting", "COpenSSL"],
            path: "Tests/Support/TestSupport", swiftSettings: settings),
        // A program that downloads a file, for tests that kill it; that they depend on it makes SwiftPM build it.
        .executableTarget(
            name: "DownloadProgram", dependencies: ["Bluebonnet"], path: "Tests/Support/DownloadProgram",
            swiftSettings: settings),
        // A program that loads cookies, makes requests and saves them, for tests of what one process leaves to another.
        .executableTarget(
            name: "CookieProgram", dependencies: ["Bluebonnet"], path: "Tests/Support/CookieProgram",
            swiftSettings: settings),
        // A program that stores and uses responses in a directory, for tests that share the directory and kill it.
        .executableTarget(
            name: "CacheProgram", dependencies: ["Bluebonnet", "BluebonnetTesting"], path: "Tests/Support/CacheProgram",
            swiftSettings: settings),
        // A program that makes requests, for tests of what the environment of a process says.
        .executableTarget(
            name: "EnvironmentProgram", dependencies: ["Bluebonnet"], path: "Tests/Support/EnvironmentProgram",
            swiftSettings: settings),
        // A program that watches how hosts can be reached, for tests that change the network of a namespace under it.
        .executableTarget(
            name: "ReachabilityProgram", dependencies: ["Bluebonnet", "BluebonnetReachability"],
            path: "Tests/Support/ReachabilityProgram", swiftSettings: settings),
        // A program that ends at a random moment, for tests that it ends well.
        .executableTarget(
            name: "ExitProgram", dependencies: ["Bluebonnet", "COpenSSL"], path: "Tests/Support/ExitProgram",
            exclude: ["delays.c"], swiftSettings: settings),
        // A program that sends numbered requests, for tests that count what arrives.
        .executableTarget(
            name: "SendProgram", dependencies: ["Bluebonnet"], path: "Tests/Support/SendProgram",
            swiftSettings: settings),
        // A program that blocks its main thread and waits for a handler, for a test that it does not wait for ever.
        .executableTarget(
            name: "CallbackProgram", dependencies: ["BluebonnetCallbacks"], path: "Tests/Support/CallbackProgram",
            swiftSettings: settings),
        // Keeps trying to make the library crash, hang, grow or lie; run by Tests/fuzz.
        .executableTarget(
            name: "BluebonnetFuzz", dependencies: ["Bluebonnet", "CCurl", "COpenSSL", "CSystem", "CZlib"],
            path: "Tests/Fuzz", swiftSettings: settings),
        .testTarget(
            name: "BluebonnetTests",
            dependencies: [
                "Bluebonnet", "BluebonnetLibc", "BluebonnetReachability", "BluebonnetTesting", "TestSupport", "CCurl",
                "COpenSSL",
                "CSystem", "CZlib", "CacheProgram", "DownloadProgram", "CookieProgram", "EnvironmentProgram",
                "ExitProgram",
                "ReachabilityProgram", "SendProgram",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "BluebonnetTestingTests", dependencies: ["BluebonnetTesting", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "BluebonnetFoundationTests",
            dependencies: ["Bluebonnet", "BluebonnetFoundation", "BluebonnetTesting", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "BluebonnetCallbacksTests",
            dependencies: [
                "Bluebonnet", "BluebonnetCallbacks", "BluebonnetCompatibility", "BluebonnetFoundation",
                "BluebonnetTesting", "TestSupport", "CallbackProgram",
            ],
            swiftSettings: testSettings),
        // Each client of the benchmark is a program of its own; that the harness depends on them makes SwiftPM build them.
        .executableTarget(
            name: "BluebonnetBench",
            dependencies: [
                "BenchSupport", "CBenchMeter", "BenchBluebonnet", "BenchCallbacks", "BenchLibcurl", "BenchURLSession",
                "BenchLateServer", "BenchCommand", "BenchSink", "BenchSocketServer",
            ], path: "Tests/Benchmarks/BluebonnetBench", swiftSettings: settings),
        .executableTarget(
            name: "BenchBluebonnet", dependencies: ["BenchSupport", "Bluebonnet"],
            path: "Tests/Benchmarks/BenchBluebonnet", swiftSettings: settings),
        .executableTarget(
            name: "BenchCallbacks", dependencies: ["BenchSupport", "BluebonnetCallbacks"],
            path: "Tests/Benchmarks/BenchCallbacks", swiftSettings: settings),
        .executableTarget(
            name: "BenchGetJSON", dependencies: ["Bluebonnet"], path: "Tests/Benchmarks/BenchGetJSON",
            swiftSettings: settings),
        .executableTarget(
            name: "BenchURLSession", dependencies: ["BenchSupport"], path: "Tests/Benchmarks/BenchURLSession",
            swiftSettings: settings),
        .executableTarget(
            name: "BenchLibcurl", dependencies: ["CBenchMeter", "CCurl"], path: "Tests/Benchmarks/BenchLibcurl",
            cSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "BenchLateServer", path: "Tests/Benchmarks/BenchLateServer",
            cSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "BenchCommand", path: "Tests/Benchmarks/BenchCommand", cSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "BenchSink", path: "Tests/Benchmarks/BenchSink", cSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "BenchSocketServer", dependencies: ["COpenSSL"], path: "Tests/Benchmarks/BenchSocketServer",
            cSettings: [.treatAllWarnings(as: .error)]),
        .target(
            name: "BenchSupport", dependencies: ["CBenchMeter"], path: "Tests/Benchmarks/BenchSupport",
            swiftSettings: settings),
        .target(
            name: "CBenchMeter", path: "Tests/Benchmarks/CBenchMeter", cSettings: [.treatAllWarnings(as: .error)]),
    ]
)
