package plan

import (
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// DependencySpec holds the user's settings for dependencies: the objects other than volumes that pods need.
type DependencySpec struct {
	// Copy is true when dependencies are copied.
	Copy          bool
	OnConflict    api.ConflictPolicy
	OnChange      api.ChangePolicy
	SelectsOthers api.SelectsOthersPolicy
	// Delete requests that the copies are deleted when every ordinal is back at the source.
	Delete bool
}

// Dependencies are the objects to copy, as observed on both sides. During a rollback they are the copies that the
// migration created, and their origins are not known.
type Dependencies struct {
	// Read is true when they were read. Trouble says why they could not be read; LacksRight is true when a
	// permission was missing.
	Read       bool
	Trouble    string
	LacksRight bool
	List       []Dependency
}

// Dependency is one object that pods need, and its copy. Only hashes of the contents are kept.
type Dependency struct {
	Kind, Name string
	// From is the field that names it, for people.
	From string
	// Origin is the hash of the source's content; empty: the source has no such object.
	Origin string
	// Unserved is true when the API servers of the two sides share no version of the kind that is supported.
	// Versions then lists the supported versions, for people.
	Unserved bool
	Versions string
	// SelectsOthers names a foreign pod that the copy would select at the destination, and the pod's cluster.
	SelectsOthers string
	// KeptBy is the controller that owns and writes it at the source; empty: none.
	KeptBy string
	Copy   Copy
	// Difference is how the destination's object would change, for people.
	Difference string
	// Rigid is true when the destination's object cannot be changed into a copy, only replaced.
	Rigid bool
	// Storage is true for an object that represents storage, which is never replaced. Barred is the reason that it
	// may not be created, or remain, at the destination.
	Storage bool
	Barred  volumes.Reason
	// ClusterWide is true for an object without a namespace.
	ClusterWide bool
}

// Copy is an object at the destination with the name of a dependency.
type Copy struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	Terminating     bool
	// Keeps lists the finalizers that block its deletion while it is Terminating.
	Keeps []string
	// Hash is the hash of its content.
	Hash string
	// Marked is true when it is marked as a copy of this dependency; Copied is the hash of the content that was
	// copied.
	Marked bool
	Copied string
	// PutBack counts how often the copy had to be restored.
	PutBack int
	// EditedBy is another field manager that has changed copied fields; empty: none.
	EditedBy string
	// Ours is true when this migration created it. Anothers is true when another migration created it, and may
	// delete it.
	Ours, Anothers bool
	// Unbound is true for a claim that is not bound yet. Releases is true for a volume whose storage would be
	// deleted with it.
	Unbound  bool
	Releases bool
	// UsedBy names a foreign pod that references it; empty: none. It is determined before an object that the
	// migration created is deleted.
	UsedBy string
}

// Copied describes the write of a copy.
type Copied struct {
	// Origin is the hash of the content that was judged: the write is refused when the source's content has
	// another hash.
	Origin string
	// PutBack counts how often the copy had to be restored, including this time.
	PutBack int
}
