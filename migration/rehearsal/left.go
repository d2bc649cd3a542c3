package rehearsal

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/volumes"
)

// Left lists the existing objects of a rehearsal, for their deletion.
type Left struct {
	// Sets are the StatefulSets of the namespace, and Mounting the pods that mount a claim of it. Objects of a namespace
	// that is ours are ours.
	Sets     []Object
	Mounting []Object
	Claims   []Object
	// Volumes are bound to claims of the namespace, of which some may be deleted already. One is Ours if it was
	// provisioned for such a claim, or chosen for it.
	Volumes []Volume
	// Imports and Contents are those with the ID of the rehearsal.
	Imports, Contents []Object
	// Taken are the snapshots at the source with the ID of the rehearsal.
	Taken []TakenLeft
	// Movers are the pods of both sides that copy volumes for this rehearsal.
	Movers []MoverLeft
}

// MoverLeft is a pod that copies a volume.
type MoverLeft struct {
	Object
	AtSource bool
}

// TakenLeft is a snapshot at the source with its content.
type TakenLeft struct {
	Object
	Content Object
	// Retains is true if the storage keeps the snapshot when the content is deleted.
	Retains bool
}

// end deletes what the rehearsal has created, in the reverse order. Storage is deleted with the objects: the volumes
// are clones. Movers are never kept: they read the disks of the source.
func (f Facts) end() Step {
	finished := func() Step { return Step{Finished: true} }
	switch {
	case f.Record.Cleaned:
		return finished()
	case f.Record.Kept() && !f.Stop:
		return first(f.admitted, f.dropMovers, finished)
	}
	return first(f.admitted, f.dropMovers, f.stopPods, f.dropClones, f.dropImports, f.dropTaken, f.dropNamespace, func() Step {
		next := f.Record
		next.Cleaned = true
		return Step{Record: &next}
	})
}

// stopPods deletes the StatefulSet, and waits until no pod mounts a clone.
func (f Facts) stopPods() Step {
	if !f.owned() {
		return Step{}
	}
	for _, set := range f.Left.Sets {
		if !set.Terminating {
			return f.write(Delete, KindSet, set)
		}
	}
	return deleted("", f.Left.Sets, f.Left.Mounting)
}

// deleted waits until none of these objects exists.
func deleted(what string, all ...[]Object) Step {
	for _, o := range slices.Concat(all...) {
		if o.Ours {
			return Step{Wait: what + named(o.Ref) + " is deleted" + volumes.KeptBy(o.Keeps)}
		}
	}
	return Step{}
}

// dropClones deletes the claims of the namespace and their volumes.
func (f Facts) dropClones() Step {
	if !f.owned() && !f.vanished() {
		return Step{}
	}
	for _, v := range f.Left.Volumes {
		switch {
		case !v.Ours:
		case v.Chosen:
			return Step{Stuck: volumes.Stalled("ForeignVolume",
				fmt.Sprintf("volume %s was bound to claim %s of the rehearsal, and existed before it: it is not deleted, and its claim stays, because the claim's deletion may delete its data", v.Name, named(v.Claim)),
				"set the volume's policy to Retain, and delete the claim; then call rehearse again with --clean")}
		case !v.Terminating && !v.Deletes:
			return f.write(Loosen, KindVolume, v.Object)
		}
	}
	for _, c := range f.Left.Claims {
		if !c.Terminating {
			return f.write(Delete, KindClaim, c)
		}
	}
	if step := deleted("claim ", f.Left.Claims); !step.none() {
		return step
	}
	for _, v := range f.Left.Volumes {
		if v.Ours {
			return Step{Wait: "volume " + v.Name + " is deleted with its storage" + volumes.KeptBy(v.Keeps)}
		}
	}
	return Step{}
}

// vanished reports whether the namespace of the rehearsal existed, and another writer has deleted it. Volumes of its
// claims may remain.
func (f Facts) vanished() bool { return !f.Namespace.Found && f.Record.NamespaceUID != "" }

// dropImports deletes the objects that made the snapshots known at the destination. They retain the snapshots.
func (f Facts) dropImports() Step {
	for _, each := range []struct {
		kind    Kind
		objects []Object
	}{{KindImport, f.Left.Imports}, {KindContent, f.Left.Contents}} {
		for _, o := range each.objects {
			if o.Ours && !o.Terminating {
				return f.write(Delete, each.kind, o)
			}
		}
	}
	return deleted("snapshot ", f.Left.Imports, f.Left.Contents)
}

// dropTaken deletes the snapshots at the source, with their storage.
func (f Facts) dropTaken() Step {
	for _, s := range f.Left.Taken {
		switch {
		case !s.Ours:
			continue
		case s.Content.Found && s.Content.Ours && s.Retains && !s.Content.Terminating:
			step := f.write(Loosen, KindContent, s.Content)
			step.Write.AtSource = true
			return step
		case !s.Terminating:
			step := f.write(Delete, KindTaken, s.Object)
			step.Write.AtSource = true
			return step
		}
	}
	for _, s := range f.Left.Taken {
		if s.Ours {
			return Step{Wait: "VolumeSnapshot " + named(s.Ref) + " is deleted" + volumes.KeptBy(s.Keeps)}
		}
	}
	return Step{}
}

// dropNamespace deletes the namespace with everything that is still in it.
func (f Facts) dropNamespace() Step {
	switch n := f.Namespace; {
	case !f.owned():
		return Step{}
	case n.Terminating:
		return Step{Wait: "namespace " + n.Name + " is deleted"}
	default:
		return f.write(Delete, KindNamespace, n)
	}
}
