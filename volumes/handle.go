package volumes

import (
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// Handle returns what identifies the storage behind a volume, so that two
// PersistentVolumes with one handle are one disk.
func Handle(volume *corev1.PersistentVolume) string { return disk.Handle(volume) }

// Disk is a digest of a handle, short enough for a record: 32 hexadecimal digits.
func Disk(handle string) string {
	if handle == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(handle))
	return hex.EncodeToString(sum[:16])
}

// Twin is another volume, of those that a cluster has, that may be the same disk as one that is to be made there; empty: there
// is none. A volume that has the new one in a folder below it is none for who may have any path made.
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
