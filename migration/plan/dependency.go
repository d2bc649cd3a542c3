package plan

import (
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// DependencySpec is what the user asks for of the objects that pods need besides their volumes.
type DependencySpec struct {
	// Copy is true when they are copied.
	Copy          bool
	OnConflict    api.ConflictPolicy
	OnChange      api.ChangePolicy
	SelectsOthers api.SelectsOthersPolicy
	// Delete asks for the copies to be deleted when every ordinal has gone back.
	Delete bool
}

// Dependencies are the objects that are to be copied, as they were seen on both sides. On the way
// back they are the copies that the migration has made, and nothing is known of their origins.
type Dependencies struct {
	// Read is true when they were looked at, and Trouble says why they could not be; LacksRight is true
	// when it was for want of a right.
	Read       bool
	Trouble    string
	LacksRight bool
	List       []Dependency
}

// Dependency is one object that pods need, and its copy. Of what is in them only hashes are known.
type Dependency struct {
	Kind, Name string
	// From is where it is named, for people.
	From string
	// Origin is the hash of the source's content; empty: the source has no such object.
	Origin string
	// Unserved is true when the API servers of both sides serve the kind in no version that they share, of
	// those that are understood, which are Versions then, for people.
	Unserved bool
	Versions string
	// SelectsOthers names a pod of somebody else that it would select at the destination, and the pod's cluster.
	SelectsOthers string
	// KeptBy is what owns it at the source, and writes it; empty: nothing does.
	KeptBy string
	Copy   Copy
	// Difference is how the destination's object would change, for people.
	Difference string
	// Rigid is true when the destination's object cannot be changed into a copy, only replaced.
	Rigid bool
	// Storage is true for what stands for storage, and is never replaced; Barred is why it may not be
	// made, or stay, at the destination.
	Storage bool
	Barred  volumes.Problem
	// ClusterWide is true for what is in no namespace.
	ClusterWide bool
}

// Copy is an object of the destination with the name of a dependency.
type Copy struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	Terminating     bool
	// Keeps are the finalizers that keep it while it is Terminating.
	Keeps []string
	// Hash is of its content.
	Hash string
	// Marked is true when it says that it is a copy of this dependency, and Copied is the hash of
	// what was copied.
	Marked bool
	Copied string
	// PutBack is how often it had to be put back.
	PutBack int
	// EditedBy is who else has changed what was copied; empty: nobody.
	EditedBy string
	// Ours is true when this migration has made it, and Anothers when another one has, which may delete it.
	Ours, Anothers bool
	// Unbound is true for a claim that is not bound yet, and Releases for a volume whose storage would be
	// deleted with it.
	Unbound  bool
	Releases bool
	// UsedBy names a pod of somebody else that names it; empty: none does. It is looked for before what
	// the migration has made is deleted.
	UsedBy string
}

// Copied is what a write of a copy is about.
type Copied struct {
	// Origin is the hash of what was judged: the write is refused when the source has another one.
	Origin string
	// PutBack is how often the copy had to be put back, this time included.
	PutBack int
}
