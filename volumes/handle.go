package volumes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// Handle returns what identifies the storage behind a volume, so that two
// PersistentVolumes with one handle are one disk. It is the driver and
// volumeHandle of a CSI volume, else the whole volume source.
func Handle(volume *corev1.PersistentVolume) string {
	if csi := volume.Spec.CSI; csi != nil {
		return csi.Driver + "/" + csi.VolumeHandle
	}
	source, err := json.Marshal(volume.Spec.PersistentVolumeSource)
	if err != nil {
		return ""
	}
	return string(source)
}

// Disk is a digest of a handle, short enough for a record: 32 hexadecimal digits.
func Disk(handle string) string {
	if handle == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(handle))
	return hex.EncodeToString(sum[:16])
}
