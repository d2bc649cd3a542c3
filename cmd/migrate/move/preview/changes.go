package preview

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
)

// Change is an object that differs before and after a move.
type Change struct {
	Place  Place
	Object string
	// Before and After hold the relevant fields; nil if the object does not exist.
	Before, After []Field
}

// Place is the location of an object. Namespace is empty for cluster-scoped kinds.
type Place struct{ Cluster, Namespace string }

// Field is a field of an object and its value, in the notation of kubectl explain.
type Field struct{ Path, Value string }

// Changes holds the lasting and the temporary changes of a move.
type Changes struct {
	Lasting []Change
	// Passing lists the objects that a move changes and restores, except for annotations.
	Passing []Change
}

// NewChanges simulates the plan to its end on a model of the observed state, and compares the end with the beginning.
func NewChanges(m *api.Migration, s plan.Snapshot) Changes {
	if m.Status.Baseline == nil {
		s.Record.Fence = nil // as in NewPlan
	}
	s = resumed(s)
	before := newInventory(s)
	written := newInventory(plan.Snapshot{})
	others := map[thing][]Field{}
	_, end := simulate.End(s, func(step simulate.Step) {
		at := placed(s, step.Effect)
		written.put(at, nil)
		others[at] = described(step.Effect, others[at])
	})
	after := newInventory(end)
	all := slices.Concat(written.order, before.order, after.order)
	var out Changes
	known := map[thing]bool{}
	for _, at := range all {
		if known[at] {
			continue
		}
		known[at] = true
		c := Change{at.place, at.object, before.fields[at], after.fields[at]}
		if c.Before == nil && c.After == nil {
			c.After = others[at]
		}
		switch {
		case !slices.Equal(c.Before, c.After):
			out.Lasting = append(out.Lasting, c)
		case slices.Contains(written.order, at):
			out.Passing = append(out.Passing, c)
		}
	}
	return out
}

// thing identifies an object by place and name.
type thing struct {
	place  Place
	object string
}

// inventory holds the objects of source and destination, in the order in which they were found.
type inventory struct {
	order  []thing
	fields map[thing][]Field
}

func (i *inventory) put(at thing, fields []Field) {
	if _, known := i.fields[at]; !known {
		i.order = append(i.order, at)
	}
	i.fields[at] = fields
}

func newInventory(s plan.Snapshot) *inventory {
	i := &inventory{fields: map[thing][]Field{}}
	for _, side := range []plan.Side{s.Source, s.Destination} {
		here := Place{side.Cluster, side.Namespace}
		if set := side.Set; set.Presence == plan.Seen {
			i.put(thing{here, "statefulset/" + set.Name}, []Field{
				{"spec.ordinals.start", strconv.Itoa(int(set.Start))}, {"spec.replicas", strconv.Itoa(int(set.Replicas))},
			})
		}
		for _, budget := range side.Budgets {
			i.put(thing{here, "poddisruptionbudget/" + budget.Name}, budgetFields(budget.Form))
		}
	}
	for k := range s.Volumes {
		v := &s.Volumes[k]
		i.holding(s.Source, v.Source)
		i.holding(s.Destination, v.Destination)
	}
	return i
}

func budgetFields(form pdb.Form) []Field {
	switch {
	case form.MinAvailable != nil:
		return []Field{{"spec.minAvailable", form.MinAvailable.String()}}
	case form.MaxUnavailable != nil:
		return []Field{{"spec.maxUnavailable", form.MaxUnavailable.String()}}
	default:
		return []Field{{"spec", "{}"}}
	}
}

func (i *inventory) holding(side plan.Side, h volumes.Holding) {
	if h.Claim.Found {
		i.put(thing{Place{side.Cluster, h.Ref.Namespace}, string(volumes.KindClaim) + "/" + h.Ref.Name}, []Field{{"spec.volumeName", h.Claim.Volume}})
	}
	if v := h.Volume; v.Found {
		claim := "none"
		if v.ClaimRef.Name != "" {
			claim = v.ClaimRef.Namespace + "/" + v.ClaimRef.Name
		}
		i.put(thing{Place{Cluster: side.Cluster}, string(volumes.KindVolume) + "/" + v.Name}, []Field{
			{"spec.claimRef", claim}, {"spec.persistentVolumeReclaimPolicy", string(v.Policy)},
		})
	}
}

// placed returns the object that a write changes.
func placed(s plan.Snapshot, e plan.Effect) thing {
	side := s.Source
	if e.Side == plan.DestinationSide {
		side = s.Destination
	}
	at := thing{Place{side.Cluster, side.Namespace}, e.Object()}
	switch {
	case !e.Namespaced():
		at.place.Namespace = ""
	case e.Carries():
		at.place.Namespace = e.Volume.Ref.Namespace
	case e.On() == plan.KindWriter:
		at.place.Namespace = e.Writer.Namespace
	}
	return at
}

// described returns the state, after one more write, of an object that is in no snapshot. before is its state so far.
// Values are not shown, because some of these objects are Secrets.
func described(e plan.Effect, before []Field) []Field {
	created := e.Change() == volumes.Creates
	switch kind := e.On(); {
	case e.Carries():
		return before
	case kind == plan.KindWriter, e.Change() == volumes.Deletes:
		return nil
	case kind == plan.KindCopy && !created:
		return []Field{{"updated", "to the source's"}}
	case !created:
		return before
	case kind == plan.KindJob:
		return []Field{{"created", fmt.Sprintf("by hook %s (%s)", e.Hook.Hook.Name, e.Hook.Hook.Point)}}
	default:
		return asCreated[kind]
	}
}

// asCreated holds how objects that are in no snapshot are created, by kind.
var asCreated = map[volumes.Kind][]Field{
	plan.KindNamespace:  {{"created", "without anything in it"}},
	volumes.KindService: {{"created", "as the source's, without its cluster IPs"}},
	volumes.KindExport:  {{"created", "for the Service of its name"}},
	plan.KindCopy:       {{"created", "as the source's, without what belongs to its cluster"}},
}

// Diff prints the lasting changes of a move as a diff of the relevant fields, and then the names of temporarily changed
// objects.
func (p Printer) Diff(c Changes) error {
	out := bufio.NewWriter(p.Out)
	for _, change := range c.Lasting {
		name := change.Place.String() + " " + change.Object
		old, changed := name, name
		if change.Before == nil {
			old = "/dev/null"
		}
		if change.After == nil {
			changed = "/dev/null"
		}
		fmt.Fprintf(out, "%s\n%s\n", p.Paint.Bold("--- "+old), p.Paint.Bold("+++ "+changed))
		for _, line := range p.fields(change) {
			fmt.Fprintln(out, line)
		}
	}
	if len(c.Lasting)+len(c.Passing) == 0 {
		fmt.Fprintln(out, p.Paint.Dim("# nothing will have changed"))
	}
	made := func(change Change) bool { return change.Before == nil }
	for _, group := range []struct {
		head string
		of   func(Change) bool
	}{
		{"changed during the move, and restored in the end:", func(change Change) bool { return !made(change) }},
		{"created during the move, and deleted in the end:", made},
	} {
		for i, change := range matching(c.Passing, group.of) {
			if i == 0 {
				fmt.Fprintln(out, p.Paint.Dim("# "+group.head))
			}
			fmt.Fprintln(out, p.Paint.Dim("#   "+change.Place.String()+" "+change.Object))
		}
	}
	return out.Flush()
}

func matching(changes []Change, is func(Change) bool) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(change Change) bool { return !is(change) })
}

// fields returns the lines of a change: each removed or changed field, and its new value.
func (p Printer) fields(c Change) []string {
	var lines []string
	for _, was := range c.Before {
		now := slices.IndexFunc(c.After, func(f Field) bool { return f.Path == was.Path })
		switch {
		case now < 0:
			lines = append(lines, p.Paint.Red("-"+was.String()))
		case c.After[now] == was:
			lines = append(lines, " "+was.String())
		default:
			lines = append(lines, p.Paint.Red("-"+was.String()), p.Paint.Green("+"+c.After[now].String()))
		}
	}
	for _, now := range c.After {
		if !slices.ContainsFunc(c.Before, func(f Field) bool { return f.Path == now.Path }) {
			lines = append(lines, p.Paint.Green("+"+now.String()))
		}
	}
	return lines
}

// String returns the cluster and the namespace, if any.
func (p Place) String() string {
	if p.Namespace == "" {
		return p.Cluster
	}
	return p.Cluster + "/" + p.Namespace
}

// String returns the field as a line of YAML.
func (f Field) String() string { return f.Path + ": " + f.Value }
