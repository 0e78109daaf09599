# shellcheck shell=bash
# Builds the system's own libcurl with the address sanitizer. Sourced by Tests/fuzz.

# What libcurl's configure has to find, so that it has the features of Debian's.
readonly LIBCURL_PACKAGES=(dpkg-dev make patch libnghttp2-dev libbrotli-dev libzstd-dev libpsl-dev libidn2-dev libssl-dev zlib1g-dev
    libkrb5-dev)

# make_libcurl_asan FOLDER: builds it there, unless it is there; prints the folder of the library.
make_libcurl_asan() {
    local folder=$1 version clang
    version=$(dpkg-query -W -f='${source:Version}' libcurl4)
    if [[ ! -e $folder/$version/lib/libcurl.so.4 ]]; then
        install_packages "${LIBCURL_PACKAGES[@]}"
        # Swift's own clang: its sanitizer runtime is the one that is in the program.
        clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
        echo "Building libcurl $version with the address sanitizer" >&2
        fetch_curl_source "$folder" "$version" >&2
        (build_libcurl "$folder/source" "$clang" "$PWD/$folder/$version") >"$folder/build.log" 2>&1 || {
            tail -30 "$folder/build.log" >&2
            return 1
        }
    fi
    echo "$PWD/$folder/$version/lib"
}

# Fetches the source package of a version, from where this machine has its packages.
fetch_curl_source() {
    local folder=$1 version=$2 apt
    rm -rf "$folder/source" "$folder/apt"
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/parts"
    # The same places as the machine's, asked for sources as well; nothing of the machine is changed.
    find /etc/apt -maxdepth 2 \( -name '*.list' -o -name '*.sources' \) -exec cp {} "$folder/apt/parts/" \;
    find "$folder/apt/parts" -name '*.list' -exec sed -i -E 's/^[[:space:]]*deb[[:space:]]/deb-src /' {} \;
    find "$folder/apt/parts" -name '*.sources' -exec sed -i -E 's/^Types:.*/Types: deb-src/' {} \;
    apt=$PWD/$folder/apt
    local options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::State::Lists=$apt/lists"
        -o APT::Sandbox::User=root)
    apt-get "${options[@]}" -qq update
    (cd "$folder" && apt-get "${options[@]}" -qq source --download-only "curl=$version" && dpkg-source -x curl_*.dsc source)
}

# build_libcurl SOURCE CLANG PREFIX
build_libcurl() {
    local clang=$2 prefix=$3 patch
    cd "$1" || return 1
    # The last of Debian's patches make libraries of other names, for other TLS libraries.
    for patch in 99_nss 90_gnutls; do
        patch --reverse --strip=1 --force <"debian/patches/$patch.patch" || return 1
    done
    CC=$clang CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address" ./configure --prefix="$prefix" \
        --disable-static --enable-versioned-symbols --with-openssl --with-nghttp2 --with-brotli --with-zstd --with-libpsl \
        --with-libidn2 --with-gssapi --with-ca-path=/etc/ssl/certs --disable-ldap --disable-manual --without-libssh2 || return 1
    # What configure was made from has been patched; it need not be made again.
    local kept=(AUTOCONF=: AUTOHEADER=: AUTOMAKE=: ACLOCAL=:)
    make -j"$(nproc)" -C lib "${kept[@]}" && make -C lib "${kept[@]}" install
}
