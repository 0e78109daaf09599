# shellcheck shell=bash
# Makes the certificates of the test servers with the openssl command. Sourced by servers.sh.

# write_ca_configuration DIRECTORY [NAME]: writes NAME.cnf, `openssl` if not said, and NAME.txt, its records.
#
# It is for `openssl ca`, which unlike `openssl x509` in version 3.0 sets both ends of the validity. Who needs more than these
# extensions appends sections; one that is there already goes on.
write_ca_configuration() {
    local file=$1/${2:-openssl}
    cat >"$file.cnf" <<CONFIGURATION
[ca]
default_ca = tests
[tests]
database = $file.txt
new_certs_dir = $1
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
commonName = Bluebonnet tests
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
CONFIGURATION
    : >"$file.txt"
}

# new_key FILE [KIND]: of the curve P-256, or of another kind: `rsa` or `ed25519`.
new_key() {
    case ${2:-ec} in
    rsa) openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$1" ;;
    ed25519) openssl genpkey -algorithm ED25519 -out "$1" ;;
    *) openssl ecparam -name prime256v1 -genkey -noout -out "$1" ;;
    esac
}

# make_authority DIRECTORY NAME: writes NAME.pem and NAME.key.
make_authority() {
    new_key "$1/$2.key"
    openssl req -x509 -config "$1/openssl.cnf" -extensions authority -key "$1/$2.key" -out "$1/$2.pem" \
        -days 30 -subj "/CN=Bluebonnet tests $2"
}

# make_leaf DIRECTORY NAME SUBJECT_ALTERNATIVE_NAMES START END SIGNER [EXTENSIONS [KIND]]: writes NAME.pem and NAME.key.
# SIGNER is the name of an authority, or `-selfsign`. Dates are YYYYMMDDHHMMSSZ. EXTENSIONS are `leaf` or `client`.
make_leaf() {
    local directory=$1 name=$2 names=$3 start=$4 end=$5 signer=$6 extensions=${7:-leaf}
    local signing=(-cert "$directory/$signer.pem" -keyfile "$directory/$signer.key")
    [[ $signer != -selfsign ]] || signing=(-selfsign -keyfile "$directory/$name.key")
    new_key "$directory/$name.key" "${8:-ec}"
    openssl req -new -config "$directory/openssl.cnf" -key "$directory/$name.key" -out "$directory/$name.csr" \
        -subj "/CN=Bluebonnet tests $name" -addext "subjectAltName=$names"
    openssl ca -config "$directory/openssl.cnf" -batch -notext -extensions "$extensions" "${signing[@]}" \
        -startdate "$start" -enddate "$end" -in "$directory/$name.csr" -out "$directory/$name.pem"
}

# make_client_files DIRECTORY: the client's certificate and key in the other ways to write them.
make_client_files() {
    local client=$1/client password=pass:open-sesame
    openssl x509 -in "$client.pem" -outform der -out "$client.der" &&
        openssl ec -in "$client.key" -outform der -out "$client.key.der" &&
        openssl ec -in "$client.key" -aes256 -passout $password -out "$client.encrypted.key" &&
        openssl pkcs12 -export -in "$client.pem" -inkey "$client.key" -passout $password -out "$client.p12" &&
        openssl pkcs12 -export -legacy -certpbe PBE-SHA1-RC2-40 -in "$client.pem" -inkey "$client.key" \
            -passout $password -out "$client.legacy.p12"
}

# make_certificates DIRECTORY: an authority to trust, one not to, and a certificate for each way to be right or wrong.
make_certificates() {
    local directory=$1 here="DNS:localhost,IP:127.0.0.1" past yesterday later
    past=$(date -u -d '-30 days' +%Y%m%d%H%M%SZ)
    yesterday=$(date -u -d '-1 day' +%Y%m%d%H%M%SZ)
    later=$(date -u -d '+20 days' +%Y%m%d%H%M%SZ)
    mkdir -p "$directory"
    {
        write_ca_configuration "$directory" &&
            make_authority "$directory" ca &&
            make_authority "$directory" untrusted-ca &&
            make_leaf "$directory" server "$here,DNS:shop.localhost,DNS:www.shop.localhost" "$yesterday" "$later" ca &&
            make_leaf "$directory" expired "$here" "$past" "$yesterday" ca &&
            make_leaf "$directory" wrong-host "DNS:wrong-host.example" "$yesterday" "$later" ca &&
            make_leaf "$directory" untrusted "$here" "$yesterday" "$later" untrusted-ca &&
            make_leaf "$directory" self-signed "$here" "$yesterday" "$later" -selfsign &&
            make_leaf "$directory" named "$here,IP:::1,DNS:named.test,DNS:*.named.test" "$yesterday" "$later" ca &&
            make_leaf "$directory" client "DNS:client.test" "$yesterday" "$later" ca client &&
            make_leaf "$directory" client-rsa "DNS:client.test" "$yesterday" "$later" ca client rsa &&
            make_leaf "$directory" client-ed25519 "DNS:client.test" "$yesterday" "$later" ca client ed25519 &&
            make_leaf "$directory" client-expired "DNS:client.test" "$past" "$yesterday" ca client &&
            make_leaf "$directory" stranger "DNS:client.test" "$yesterday" "$later" untrusted-ca client &&
            make_client_files "$directory"
    } >"$directory/openssl.log" 2>&1 || {
        echo "error: openssl could not make the certificates:" >&2
        cat "$directory/openssl.log" >&2
        return 1
    }
}
