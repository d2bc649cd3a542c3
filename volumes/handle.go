package volumes

import (
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// Handle returns the identity of the storage behind a volume: two PersistentVolumes with one handle are one
// disk.
func Handle(volume *corev1.PersistentVolume) string { return disk.Handle(volume) }

// Disk returns a digest of a handle, short enough for a record: 32 hexadecimal digits.
func Disk(handle string) string {
	if handle == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(handle))
	return hex.EncodeToString(sum[:16])
}

// Twin returns the name of another volume of a cluster that may be the same disk as the volume to create there;
// empty if there is none. A volume whose path contains that of the new one counts only if the policy does not
// allow paths.
func (p Policy) Twin(volume *corev1.PersistentVolume, there []corev1.PersistentVolume) string {
	for i := range there {
		if there[i].Name == volume.Name {
			continue
		}
		if relation := disk.Relate(volume, &there[i]); relation == disk.Same || relation == disk.Within && !p.Paths {
			return there[i].Name
		}
	}
	return ""
}
