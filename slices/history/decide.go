package history

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/inputs"
)

// defaultLimit is the default of revisionHistoryLimit.
const defaultLimit = 10

// State is everything that Decide reads of a StatefulSet's history.
type State struct {
	Set *api.StatefulSet
	// Revisions are the revisions that the set owns, in any order.
	Revisions []*appsv1.ControllerRevision
	// Pods are the revisions in the labels of the set's pods (controller-revision-hash).
	Pods []string
	Inputs
}

// Inputs are the inputs of the set's template (package inputs).
type Inputs struct {
	// Records are the inputs, in any order.
	Records []inputs.Record
	// Unknown is true when an input cannot be had. The update revision then stays as it is (H6).
	Unknown bool
}

// Decision is the desired history of a set.
type Decision struct {
	// Current is the revision of pods below the partition. Update is the revision of the template. Update is not in
	// State.Revisions when Create is true. Both are nil if inputs are unknown and no revision was an update revision before.
	Current, Update *appsv1.ControllerRevision
	Create          bool
	// Number is the desired revision number of Update.
	Number int64
	// Claims is the value of ClaimsAnnotationKey to write on Update. Empty means no change.
	Claims string
	// Relabel maps a revision that pods may name to the equivalent revision that is kept.
	Relabel map[string]string
	// Prune are the revisions to delete, oldest first.
	Prune []*appsv1.ControllerRevision
}

// Decide returns the desired history of a set.
func Decide(s State) (Decision, error) {
	want, err := s.wanted()
	if err != nil {
		return Decision{}, err
	}
	h := read(s)
	d := Decision{Number: 1, Relabel: h.relabel()}
	if s.Unknown {
		// A set that is being deleted may have lost its history, and its deletion must complete.
		if former := h.former(d); former.Update != nil || s.Set.DeletionTimestamp == nil {
			return former, nil
		}
	}
	if len(h.sorted) > 0 {
		d.Number = h.sorted[len(h.sorted)-1].Revision + 1
	}
	if d.Update = h.find(want); d.Update == nil {
		d.Create, d.Update = true, revisionFor(s.Set, want, d.Number, collisions(s.Set))
	} else {
		if d.Update == h.sorted[len(h.sorted)-1] {
			d.Number = d.Update.Revision
		}
		if h.content[d.Update.Name].claims == "" {
			d.Claims = want.claims
		}
	}
	d.Current = h.current(d.Update)
	d.Prune = h.prune(d)
	return d, nil
}

// wanted returns the content of the template's revision.
func (s State) wanted() (content, error) {
	want, err := contentOf(s.Set)
	want.inputs = inputs.Encode(s.Records)
	return want, err
}

// former returns the history without a change of the update revision, and prunes nothing. If the status was lost, the update
// revision is the newest one that a pod has. Update is nil if there is no such revision.
func (h *history) former(d Decision) Decision {
	d.Update = cmp.Or(h.stays[h.Set.Status.UpdateRevision], h.stays[h.Set.Status.CurrentRevision])
	if d.Update == nil {
		for _, revision := range h.sorted {
			if slices.Contains(h.Pods, revision.Name) {
				d.Update = h.stays[revision.Name]
			}
		}
	}
	if d.Update != nil {
		d.Number, d.Current = d.Update.Revision, h.current(d.Update)
	}
	return d
}

// collisions returns the number of collisions of a name with other content.
func collisions(set *api.StatefulSet) int32 {
	if set.Status.CollisionCount == nil {
		return 0
	}
	return *set.Status.CollisionCount
}

// history is a parsed state.
type history struct {
	State
	// claims is true when a different size of a claim template is different content.
	claims bool
	// sorted are the revisions from the oldest to the newest.
	sorted  []*appsv1.ControllerRevision
	content map[string]content
	// stays maps the name of each revision to the newest one with the same content.
	stays map[string]*appsv1.ControllerRevision
}

func read(s State) *history {
	h := &history{
		State: s, claims: versionsClaims(s.Set), sorted: slices.Clone(s.Revisions),
		content: map[string]content{}, stays: map[string]*appsv1.ControllerRevision{},
	}
	slices.SortFunc(h.sorted, byAge)
	newest := map[content]*appsv1.ControllerRevision{}
	for _, revision := range h.sorted {
		recorded := recordedBy(revision)
		h.content[revision.Name] = recorded
		newest[h.identity(revision.Name)] = revision
	}
	for _, revision := range h.sorted {
		h.stays[revision.Name] = newest[h.identity(revision.Name)]
	}
	return h
}

// byAge orders revisions by number, then by creation time.
func byAge(a, b *appsv1.ControllerRevision) int {
	return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// identity returns equal values for equivalent revisions.
func (h *history) identity(name string) content {
	identity := h.content[name]
	if identity.template == "" {
		return content{claims: name} // it cannot be parsed, and equals no other
	}
	if !h.claims {
		identity.claims = ""
	}
	return identity
}

// find returns the newest matching revision. A revision that records the same claims takes precedence over a revision that
// records none.
func (h *history) find(want content) *appsv1.ControllerRevision {
	var found *appsv1.ControllerRevision
	for _, revision := range slices.Backward(h.sorted) {
		recorded := h.content[revision.Name]
		switch {
		case !want.fits(recorded, h.claims):
		case !h.claims || recorded.claims == want.claims:
			return revision
		case found == nil:
			found = revision
		}
	}
	return found
}

// current returns the revision of status.currentRevision. If the status was lost, for example because the set was deleted
// without its pods and recreated, it returns the newest other revision that a pod has. Without such a pod, it returns the
// update revision.
func (h *history) current(update *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	if known := h.stays[h.Set.Status.CurrentRevision]; known != nil {
		return known
	}
	current := update
	for _, name := range h.Pods {
		if left := h.stays[name]; left != nil && left.Name != update.Name && (current == update || byAge(left, current) > 0) {
			current = left
		}
	}
	return current
}

func (h *history) relabel() map[string]string {
	relabel := map[string]string{}
	for name, stays := range h.stays {
		if name != stays.Name {
			relabel[name] = stays.Name
		}
	}
	return relabel
}

// prune returns the revisions that are no longer needed. The revision in status.currentRevision stays even if it has an
// equivalent, because the status is written later.
func (h *history) prune(d Decision) []*appsv1.ControllerRevision {
	live := map[string]bool{d.Current.Name: true, d.Update.Name: true, h.Set.Status.CurrentRevision: true}
	for _, name := range h.Pods {
		live[name] = true
	}
	var duplicates, past []*appsv1.ControllerRevision
	for _, revision := range h.sorted {
		switch {
		case live[revision.Name]:
		case h.stays[revision.Name] != revision:
			duplicates = append(duplicates, revision)
		default:
			past = append(past, revision)
		}
	}
	limit := defaultLimit
	if h.Set.Spec.RevisionHistoryLimit != nil {
		limit = int(*h.Set.Spec.RevisionHistoryLimit)
	}
	if limit < 0 || len(past) <= limit {
		return duplicates
	}
	return append(duplicates, past[:len(past)-limit]...)
}
