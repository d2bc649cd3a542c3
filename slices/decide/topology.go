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
	// place is the domain whose available pods may be updated in this pass, and name is its name in messages.
	place Place
	name  string
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
	if d.continues(waiting, d.Topology.Current) {
		d.staysInPlace()
	} else {
		d.beginPlace(waiting)
	}
}

// continues reports whether a pod of a domain waits for its update, and then makes that the domain of this pass.
func (d *decider) continues(waiting []*Pod, place Place) bool {
	at := slices.IndexFunc(waiting, func(pod *Pod) bool { return placeOf(pod) == place })
	if at >= 0 {
		d.topology.place, d.topology.name = place, d.placeName(waiting[at])
	}
	return at >= 0
}

// staysInPlace lets no pod be updated while a pod of another domain is not available. Ordinals without a pod and pods that
// are not scheduled were taken down in this domain.
func (d *decider) staysInPlace() {
	for _, pod := range d.unsettled() {
		if at := placeOf(pod); at.Known && at != d.topology.place {
			d.topology.waits = d.waitsForPod(pod)
			return
		}
	}
}

// beginPlace begins with a domain: the one with pods that are not available, or else one with updated pods, or else the
// domain of the first pod. Updated pods must be available before, because they may have come from another domain.
func (d *decider) beginPlace(waiting []*Pod) {
	if d.missingInScope() > 0 {
		d.topology.waits = d.waitsForOrdinal(d.firstMissing())
		return
	}
	unsettled := d.unsettled()
	for _, pod := range unsettled {
		if !placeOf(pod).Known || !d.outdated(pod) {
			d.topology.waits = d.waitsForPod(pod)
			return
		}
	}
	if len(unsettled) > 0 {
		if d.continues(waiting, placeOf(unsettled[0])) {
			d.staysInPlace()
		} else {
			d.topology.waits = d.waitsForPod(unsettled[0])
		}
		return
	}
	begun := map[Place]bool{}
	for _, pod := range d.pods {
		begun[placeOf(pod)] = begun[placeOf(pod)] || d.inScope(pod.Ordinal) && !d.unfinished(pod)
	}
	first := max(slices.IndexFunc(waiting, func(pod *Pod) bool { return begun[placeOf(pod)] }), 0)
	d.continues(waiting, placeOf(waiting[first]))
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
func (d *decider) firstMissing() int32 {
	for _, ordinal := range d.lacks {
		if ordinal >= d.partition() {
			return ordinal
		}
	}
	return d.partition()
}

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
		message = fmt.Sprintf("it is updated when all pods of %s are updated and available", d.topology.name)
	}
	if !pod.Domain.Labeled && pod.Domain.Node != "" && d.Topology.Unread == "" {
		message += fmt.Sprintf("; node %s does not have the label %s, so it is updated alone", pod.Domain.Node, d.Spec.TopologyKey)
	}
	return message
}

// placeName returns the domain of a pod for messages.
func (d *decider) placeName(pod *Pod) string {
	if pod.Domain.Labeled {
		return d.Spec.TopologyKey + "=" + pod.Domain.Value
	}
	return fmt.Sprintf("node %s (ordinal %d)", pod.Domain.Node, pod.Ordinal)
}

func (d *decider) waitsForPod(pod *Pod) string {
	message := d.waitsForOrdinal(pod.Ordinal)
	if placeOf(pod).Known {
		message += ", which is in " + d.placeName(pod)
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
		return "no node of the pods has the label " + d.Spec.TopologyKey + remedy
	}
	return fmt.Sprintf("node %s does not have the label %s", waiting[at].Domain.Node, d.Spec.TopologyKey) + remedy
}
