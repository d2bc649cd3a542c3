package decide

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// readNodesAgain is the interval between two reads of nodes that could not be read.
const readNodesAgain = 10 * time.Second

// Domain is the topology domain of a pod, as its node tells it.
type Domain struct {
	// Node is the name of the pod's node. It is empty while the pod is not scheduled.
	Node string
	// Value is the value of the label TopologyKey. Labeled is false if the node does not exist or does not have the label.
	Value   string
	Labeled bool
}

// Place identifies a topology domain. The zero value means none.
type Place struct {
	// Known is true for a domain.
	Known bool
	// Value is the value of the label TopologyKey.
	Value string
	// Alone is the UID of a pod whose node does not have the label. It is a domain of its own, because its node may be
	// anywhere.
	Alone types.UID
}

// Topology is what the previous pass and the nodes tell about topology domains.
type Topology struct {
	// Current is the domain that the previous pass updated.
	Current Place
	// Unread is the error with which nodes could not be read, or empty.
	Unread string
}

// topology limits an update to the available pods of one domain.
type topology struct {
	// place is the domain whose available pods may be updated in this pass.
	place Place
	// waits is why no available pod may be updated, or empty.
	waits string
	// warning is about nodes without the label, or empty.
	warning string
}

// placeOf returns the domain of a pod. A pod that is not scheduled has none.
func placeOf(pod *Pod) Place {
	switch {
	case pod.Domain.Labeled:
		return Place{Known: true, Value: pod.Domain.Value}
	case pod.Domain.Node != "" || ready(pod):
		return Place{Known: true, Alone: pod.UID}
	default:
		return Place{}
	}
}

// choosePlace chooses the domain whose available pods are updated in this pass. A domain is left when all of its pods are
// updated and every pod in scope is available. pods are the pods to update, in the order of the strategy.
func (d *decider) choosePlace(pods []*Pod) {
	if d.Spec.TopologyKey == "" {
		return
	}
	d.topology.place = d.Topology.Current
	waiting := slices.DeleteFunc(slices.Clone(pods), func(pod *Pod) bool { return !ready(pod) || changing(pod) })
	switch {
	case len(waiting) == 0:
		return
	case d.Topology.Unread != "":
		d.topology.waits = "nodes cannot be read, which the manager must be allowed to list and watch: " + d.Topology.Unread
		d.lookAgain(readNodesAgain)
		return
	}
	d.topology.warning = d.topologyWarning(waiting)
	if slices.ContainsFunc(waiting, func(pod *Pod) bool { return placeOf(pod) == d.Topology.Current }) {
		d.continuePlace()
	} else {
		d.beginPlace(waiting)
	}
}

// continuePlace updates more pods of the domain of the previous pass, unless a pod of another domain is not available.
// Ordinals without a pod and pods that are not scheduled were taken down in this domain.
func (d *decider) continuePlace() {
	for _, pod := range d.unsettled() {
		if at := placeOf(pod); at.Known && at != d.topology.place {
			d.topology.waits = d.waitsForPod(pod)
			return
		}
	}
}

// beginPlace begins with a domain: the one with pods that are not available, or else one with updated pods, or else the
// domain of the first pod. All that an update has taken down must be available again.
func (d *decider) beginPlace(waiting []*Pod) {
	if ordinal, lacks := d.firstMissing(); lacks {
		d.topology.waits = d.waitsForOrdinal(ordinal)
		return
	}
	unsettled := d.unsettled()
	for _, pod := range unsettled {
		if !placeOf(pod).Known || pod.Terminating || pod.InPlace != nil || !d.outdated(pod) || d.goesNow(pod) {
			d.topology.waits = d.waitsForPod(pod)
			return
		}
	}
	if len(unsettled) > 0 {
		slices.SortFunc(unsettled, d.strategy.order)
		d.topology.place = placeOf(unsettled[0])
		if !slices.ContainsFunc(waiting, func(pod *Pod) bool { return placeOf(pod) == d.topology.place }) {
			d.topology.waits = d.waitsForPod(unsettled[0])
			return
		}
		d.continuePlace()
		return
	}
	begun := map[Place]bool{}
	for _, pod := range d.pods {
		begun[placeOf(pod)] = begun[placeOf(pod)] || d.inScope(pod.Ordinal) && !d.unfinished(pod)
	}
	first := max(slices.IndexFunc(waiting, func(pod *Pod) bool { return begun[placeOf(pod)] }), 0)
	d.topology.place = placeOf(waiting[first])
}

// unsettled returns the pods in scope that are not available, or that this pass deletes.
func (d *decider) unsettled() []*Pod {
	var out []*Pod
	for _, pod := range d.pods {
		if d.inScope(pod.Ordinal) && (!d.available(pod) || d.goesNow(pod)) {
			out = append(out, pod)
		}
	}
	return out
}

// goesNow reports whether this pass deletes a pod on a user's request.
func (d *decider) goesNow(pod *Pod) bool {
	return pod.AskedToGo && slices.ContainsFunc(d.actions, func(a Action) bool {
		return a.Ordinal == pod.Ordinal && (a.Verb == Delete || a.Verb == Evict)
	})
}

// firstMissing returns the first ordinal in scope without a pod, or the partition if this pass does not consider it.
func (d *decider) firstMissing() (ordinal int32, lacks bool) {
	if d.missingInScope() == 0 {
		return 0, false
	}
	at := slices.IndexFunc(d.lacks, d.inReach)
	if at < 0 {
		return d.partition(), true
	}
	return d.lacks[at], true
}

// inReach reports whether the update applies to an ordinal of the slice.
func (d *facts) inReach(ordinal int32) bool { return ordinal >= d.partition() }

// outOfPlace returns why the domain of an available pod keeps it from the update, or an empty string. The update of a pod
// that does not serve takes nothing away from its domain.
func (d *decider) outOfPlace(pod *Pod) string {
	var message string
	switch {
	case d.Spec.TopologyKey == "" || !ready(pod) || changing(pod):
		return ""
	case d.topology.waits != "":
		message = d.topology.waits
	case placeOf(pod) == d.topology.place:
		return ""
	default:
		message = fmt.Sprintf("it is updated when all pods of %s are updated and available", d.nameOf(d.topology.place))
	}
	if !pod.Domain.Labeled && pod.Domain.Node != "" && d.Topology.Unread == "" {
		message += fmt.Sprintf("; node %s does not have the label %s, so it is updated alone", pod.Domain.Node, d.Spec.TopologyKey)
	}
	return message
}

// nameOf returns a domain for messages.
func (d *decider) nameOf(place Place) string {
	if place.Alone == "" {
		return d.Spec.TopologyKey + "=" + place.Value
	}
	at := slices.IndexFunc(d.pods, func(pod *Pod) bool { return pod.UID == place.Alone })
	if at < 0 {
		return "a node without the label " + d.Spec.TopologyKey
	}
	return fmt.Sprintf("node %s (ordinal %d)", d.pods[at].Domain.Node, d.pods[at].Ordinal)
}

func (d *decider) waitsForPod(pod *Pod) string {
	message := d.waitsForOrdinal(pod.Ordinal)
	if place := placeOf(pod); place.Known {
		message += ", which is in " + d.nameOf(place)
	}
	return message
}

func (d *decider) waitsForOrdinal(ordinal int32) string {
	return fmt.Sprintf("one value of %s is updated at a time: it waits until ordinal %d is available", d.Spec.TopologyKey, ordinal)
}

// topologyWarning names the nodes that do not have the label, or returns an empty string.
func (d *decider) topologyWarning(waiting []*Pod) string {
	without := func(pod *Pod) bool { return !pod.Domain.Labeled && pod.Domain.Node != "" }
	at := slices.IndexFunc(waiting, without)
	if at < 0 {
		return ""
	}
	const remedy = ": each such pod is updated alone; label the nodes, or correct updateStrategy.rollingUpdate.topologyKey"
	if !slices.ContainsFunc(d.pods, func(pod *Pod) bool { return pod.Domain.Labeled }) {
		return fmt.Sprintf("no node of the pods has the label %s", d.Spec.TopologyKey) + remedy
	}
	return fmt.Sprintf("node %s does not have the label %s", waiting[at].Domain.Node, d.Spec.TopologyKey) + remedy
}
