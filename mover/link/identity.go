// Package link connects two movers by TLS 1.3. Each side creates its own key and knows the other by the
// fingerprint of its key. There is no authority, no shared secret, and nothing outlives the attempt.
package link

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"
)

// Fingerprint is the SHA-256 of a public key (SubjectPublicKeyInfo), as "sha256:" and 64 hex digits.
type Fingerprint string

const prefix = "sha256:"

// ParseFingerprint parses a fingerprint.
func ParseFingerprint(text string) (Fingerprint, error) {
	text = strings.TrimSpace(text)
	digits, found := strings.CutPrefix(text, prefix)
	if b, err := hex.DecodeString(digits); !found || err != nil || len(b) != sha256.Size {
		return "", fmt.Errorf("%q is no fingerprint: it is %q and 64 hexadecimal digits, as the peer's log says", text, prefix)
	}
	return Fingerprint(strings.ToLower(text)), nil
}

// Identity is a key with a certificate.
type Identity struct {
	Fingerprint Fingerprint
	certificate tls.Certificate
}

// NewIdentity creates a key.
func NewIdentity() (Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Identity{}, err
	}
	return identity(key)
}

// LoadIdentity reads the key in a file, or creates one there.
func LoadIdentity(path string) (Identity, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return saveIdentity(path)
	}
	if err != nil {
		return Identity{}, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return Identity{}, fmt.Errorf("%s holds no key: remove it, and a new one is made", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Identity{}, fmt.Errorf("%s: %w: remove it, and a new one is made", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return Identity{}, fmt.Errorf("%s holds a key of another kind than Ed25519: remove it, and a new one is made", path)
	}
	return identity(private)
}

func saveIdentity(path string) (Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Identity{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Identity{}, err
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return Identity{}, err
	}
	return identity(key)
}

func identity(key ed25519.PrivateKey) (Identity, error) {
	// The times are never checked: the key is the identity.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Identity{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Fingerprint: fingerprint(leaf), certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}}, nil
}

func fingerprint(certificate *x509.Certificate) Fingerprint {
	digest := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return Fingerprint(prefix + hex.EncodeToString(digest[:]))
}

// config returns the configuration for either side. Each side presents its certificate and checks only the key
// of the other's.
func (i Identity) config(peer Fingerprint) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{i.certificate},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // there is no authority: VerifyConnection is the check
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("the peer shows no key")
			}
			if got := fingerprint(state.PeerCertificates[0]); got != peer {
				return &WrongPeer{Got: got, Want: peer}
			}
			return nil
		},
	}
}

// WrongPeer is the error for a peer with another key.
type WrongPeer struct{ Got, Want Fingerprint }

func (e *WrongPeer) Error() string {
	return fmt.Sprintf("the peer's key is %s, and %s was expected: another mover is at that address, or the peer has started anew; give this one the fingerprint that the peer's log says", e.Got, e.Want)
}
