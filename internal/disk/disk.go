// Package disk tells which storage a PersistentVolume stands for, of whatever kind its source is: whether two volumes are
// one disk, or may be. It is the only place that knows; what is read or mounted in which way (readOnly, fsType, mount
// options, credentials) makes no other disk.
package disk

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// identity identifies the storage behind a volume.
type identity struct {
	// handle tells the storage from all other: volumes with one handle are one disk. Empty: it is not known.
	handle string
	// places are where the data are. Volumes with a place in common may be one disk, by whatever kind of source.
	places []place
}

// place is where data are: a disk, or a folder with all that is below it.
type place struct {
	kind string
	// host has a name or an address, where a path is of a host; empty: of any.
	host string
	path string
	// folder is true for one with others below it.
	folder bool
}

// Handle tells the storage behind a volume from all other, in words that people recognise. Of a volume whose storage is not
// known it says no more than its name.
func Handle(volume *corev1.PersistentVolume) string {
	if known := of(volume).handle; known != "" {
		return known
	}
	return Unknown(volume.Name)
}

// Unknown is the handle of a volume of that name whose storage is not known.
func Unknown(name string) string { return "unknown " + name }

// Known reports whether the source of a volume identifies its storage.
func Known(volume *corev1.PersistentVolume) bool {
	return of(volume).handle != "" && volume.Spec.FlexVolume == nil // what the options of a flexVolume mean, its driver alone knows
}

// Relation is how the data of two volumes lie to each other.
type Relation int

// The relations of a volume to another one.
const (
	// Apart: nothing that is known is in common.
	Apart Relation = iota
	// Within: it may be a folder below the other one.
	Within
	// Same: it may be the same disk, or a folder that has the other one below it.
	Same
)

// Relate returns how a volume lies to another one. In doubt it returns Same.
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

// Filed returns the index keys of a volume: its places and, for a folder, the folders above it. Sought finds it by these.
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

// above are the folders that a folder is below.
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
