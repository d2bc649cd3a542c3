package simulate

import "github.com/sliceshift/sliceshift/migration/plan"

// applyWriter writes the setting of another controller of the source, and the mark on it.
func (a apiServer) applyWriter(e plan.Effect) error {
	for i := range a.State.Writers.List {
		w := &a.State.Writers.List[i]
		if w.UID != e.UID {
			continue
		}
		if !w.Found || w.ResourceVersion != e.ResourceVersion {
			return ErrConflict
		}
		w.ResourceVersion, w.Mark = a.NewVersion(), e.Writer.Mark
		switch {
		case !e.Writer.Sets:
		case e.Writer.Value == nil:
			w.Value = ""
		default:
			w.Value = *e.Writer.Value
		}
		return nil
	}
	return ErrConflict
}
