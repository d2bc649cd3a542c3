// Package disk identifies the storage of a PersistentVolume with any kind of source, and reports whether two volumes are or
// may be the same disk. It is the only package that does so. The way in which a volume is mounted (readOnly, fsType, mount
// options, credentials) does not matter.
package disk

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// identity identifies the storage behind a volume.
type identity struct {
	// handle identifies the storage. Volumes with equal handles are the same disk. Empty means unknown.
	handle string
	// places are the locations of the data. Volumes with a common place may be the same disk, with any kind of source.
	places []place
}

// place is the location of data: a disk, or a folder with everything below it.
type place struct {
	kind string
	// host is the name or address of the host of the path. Empty means any host.
	host string
	path string
	// folder is true for a place with subfolders.
	folder bool
}

// Handle returns a readable handle that identifies the storage of a volume. If the storage is unknown, it has only the
// volume's name.
func Handle(volume *corev1.PersistentVolume) string {
	if known := of(volume).handle; known != "" {
		return known
	}
	return Unknown(volume.Name)
}

// Unknown returns the handle of a volume with unknown storage.
func Unknown(name string) string { return "unknown " + name }

// Known reports whether the source of a volume identifies its storage.
func Known(volume *corev1.PersistentVolume) bool {
	return of(volume).handle != "" && volume.Spec.FlexVolume == nil // only its driver knows the meaning of the options of a flexVolume
}

// Relation is the relation between the data of two volumes.
type Relation int

// The relations of a volume to another one.
const (
	// Apart means that nothing known is common.
	Apart Relation = iota
	// Within means that the volume may be a folder below the other one.
	Within
	// Same means that the volume may be the same disk, or a folder that contains the other one.
	Same
)

// Relate returns the relation of a volume to another one. In doubt it returns Same.
func Relate(volume, other *corev1.PersistentVolume) Relation {
	relation := Apart
	for _, here := range of(volume).places {
		for _, there := range of(other).places {
			relation = max(relation, here.relate(there))
		}
	}
	return relation
}

func (p place) relate(other place) Relation {
	switch {
	case p.kind != other.kind || !mayBeOne(p.host, other.host):
		return Apart
	case p.path == other.path, p.folder && below(p.path, other.path):
		return Same
	case other.folder && below(other.path, p.path):
		return Within
	}
	return Apart
}

// below reports whether a path is below a folder.
func below(folder, path string) bool {
	return path != folder && strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// Filed returns the index keys of a volume: its places and, for a folder, the folders above it. A lookup of the keys of
// Sought finds the volume by them.
func Filed(volume *corev1.PersistentVolume) []string {
	var keys []string
	for _, p := range of(volume).places {
		keys = append(keys, p.kind+" "+p.path)
		for _, folder := range p.above() {
			keys = append(keys, p.kind+" below "+folder)
		}
	}
	return unique(keys)
}

// Sought returns the index keys of the volumes that may be the same disk.
func Sought(volume *corev1.PersistentVolume) []string {
	var keys []string
	for _, p := range of(volume).places {
		keys = append(keys, p.kind+" "+p.path)
		if p.folder {
			keys = append(keys, p.kind+" below "+p.path)
		}
		for _, folder := range p.above() {
			keys = append(keys, p.kind+" "+folder)
		}
	}
	return unique(keys)
}

// above returns the folders above a folder.
func (p place) above() []string {
	if !p.folder || p.path == "/" {
		return nil
	}
	folders := []string{"/"}
	for i := 1; i < len(p.path); i++ {
		if p.path[i] == '/' {
			folders = append(folders, p.path[:i])
		}
	}
	return folders
}

func unique(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

func of(volume *corev1.PersistentVolume) identity {
	if csi := volume.Spec.CSI; csi != nil {
		return ofCSI(csi)
	}
	return ofInTree(&volume.Spec.PersistentVolumeSource)
}
