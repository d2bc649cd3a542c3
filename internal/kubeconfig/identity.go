package kubeconfig

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// secret is of this process only: without it nobody can try passwords on an identity.
var secret = []byte(rand.Text())

// identity is a digest of all that restConfig copies, each with its length: no two of them are of the
// same text.
func (s selection) identity() string {
	digest := hmac.New(sha256.New, secret)
	for _, part := range [][]byte{
		[]byte(s.cluster.Server), []byte(s.cluster.TLSServerName), []byte(s.cluster.ProxyURL), s.cluster.CertificateAuthorityData,
		strconv.AppendBool(nil, s.cluster.DisableCompression),
		[]byte(s.user.Token), []byte(s.user.Username), []byte(s.user.Password), s.user.ClientCertificateData, s.user.ClientKeyData,
	} {
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		digest.Write(part)
	}
	return hex.EncodeToString(digest.Sum(nil))
}
