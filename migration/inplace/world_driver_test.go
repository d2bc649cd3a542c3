package inplace

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/volumes/drift"
)

// largest returns the largest size that the driver gives.
func (w *world) largest() int64 {
	if w.refuses > 0 {
		return w.refuses
	}
	return 1 << 20
}

// drive is the driver with its sidecars: it gives volumes what their claims ask for. A file system grows on its node, while
// the pod runs, or as the next one starts.
func (w *world) drive() {
	for _, name := range slices.Sorted(maps.Keys(w.claims)) {
		c := w.claims[name]
		v := w.volumes[c.volume]
		if v == nil || v.ref.UID != c.uid {
			continue
		}
		if c.template.Attributes != v.template.Attributes && c.template.Attributes != "" {
			v.template.Attributes, c.attributes = c.template.Attributes, c.template.Attributes
			w.touch(&v.object)
			w.touch(&c.object)
			w.note("the driver modifies %s", v.name)
		}
		if c.capacity >= c.template.Size || c.template.Size > w.largest() {
			continue
		}
		if v.template.Size < c.template.Size {
			v.template.Size = c.template.Size
			w.touch(&v.object)
			w.note("the driver grows %s", v.name)
		}
		switch {
		case !w.offline:
			w.mount(c)
		case c.pending.IsZero():
			c.pending = w.now
			w.touch(&c.object)
		}
	}
	w.check()
}

// mount grows the file system of a claim to the size of its volume.
func (w *world) mount(c *worldClaim) {
	if size := w.volumes[c.volume].template.Size; c.capacity < size {
		c.capacity, c.pending = size, time.Time{}
		w.touch(&c.object)
		w.note("the file system of %s grows", c.volume)
	}
}

// change returns what the driver has left to do.
func (w *world) change(c *worldClaim) drift.Change {
	change := drift.Change{Grows: c.capacity < c.template.Size, Modifies: c.template.Attributes != "" && c.template.Attributes != c.attributes, FileSystem: c.pending}
	change.GrowsNot = change.Grows && c.template.Size > w.largest()
	return change
}

// needs returns the work that gives a claim the template of a set, as package drift does.
func (w *world) needs(c *worldClaim, set Manifest) drift.Need {
	has := w.effective(c)
	to := set.Templates[slices.IndexFunc(set.Templates, func(t Template) bool { return t.Name == has.Name })]
	switch {
	case has.Class != to.Class, has.Block != to.Block, has.Size == to.Size && w.change(c).GrowsNot, has.Size > to.Size && c.capacity >= to.Size:
		return drift.Copy
	case to.Attributes != "" && has.Attributes != to.Attributes:
		return drift.Modify
	case has.Size != to.Size:
		return drift.Expand
	}
	return drift.Nothing
}

// returns is the work by which a claim gets the former template: a first volume keeps its size.
func (w *world) returns(c *worldClaim) drift.Need {
	to := slices.IndexFunc(w.former.Templates, func(t Template) bool { return t.Name == c.template.Name })
	gold := w.former.Templates[to].Attributes
	switch {
	case !strings.HasPrefix(c.volume, "pv-"):
		return w.needs(c, w.former)
	case gold != "" && gold != c.template.Attributes:
		return drift.Modify
	}
	return drift.Nothing
}

// follows reports whether a claim is as a template. On the way back a first volume keeps what it was given.
func (w *world) follows(c *worldClaim, to Template, back bool) bool {
	has := w.effective(c)
	if back && strings.HasPrefix(c.volume, "pv-") && has.Size >= to.Size {
		has.Size = to.Size
	}
	if to.Attributes == "" {
		has.Attributes = ""
	}
	change := w.change(c)
	return has == to && (back || !change.Grows && !change.Modifies)
}
