package simulate

import (
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// applyCopy writes a copy of a dependency, with the content of the origin that was judged.
func (a apiServer) applyCopy(e plan.Effect) error {
	for i := range a.State.Dependencies.List {
		d := &a.State.Dependencies.List[i]
		if d.Kind != e.Kind || d.Name != e.Name {
			continue
		}
		uid, created := d.Copy.UID, e.Change() == volumes.Creates
		switch {
		case created && !d.Copy.Found:
			uid = a.NewUID()
		case created, d.Copy.UID != e.UID, d.Copy.ResourceVersion != e.ResourceVersion:
			return ErrConflict
		case e.Change() == volumes.Deletes:
			d.Copy = plan.Copy{}
			return nil
		}
		d.Difference = ""
		d.Copy = plan.Copy{
			Found: true, UID: uid, ResourceVersion: a.NewVersion(), Hash: d.Origin, Marked: true, Copied: d.Origin,
			PutBack: e.Copied.PutBack, Ours: created || d.Copy.Ours,
		}
		return nil
	}
	return ErrConflict
}
