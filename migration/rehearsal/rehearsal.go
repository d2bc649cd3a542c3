// Package rehearsal decides how a move is rehearsed: the pods of a StatefulSet start at the destination on clones of
// their volumes, under their own names, in an isolated namespace of their own. The source keeps running.
//
//	namespace    created with the ID of the rehearsal
//	admit        a RoleBinding there, if this process has no rights in new namespaces
//	control      a pod reaches forbidden addresses, as long as no NetworkPolicy denies it
//	policy       a NetworkPolicy denies everything except the addresses that the user lists
//	proof        another pod reaches none of these addresses
//	copies       the Services, ConfigMaps, Secrets and ServiceAccounts of the pods
//	clones       a snapshot of each running volume, imported, and a claim that is filled from it; or, if the user asks
//	             for that, a copy that movers make while the pods run
//	pods         the StatefulSet of the move; its pods become Ready, and health gates are asked
//	end          everything is deleted in the reverse order, the namespace last
//
// Next is asked again on every pass, with what the clusters contain. It returns at most one write. These rules keep
// the source safe:
//
//   - At the source it writes nothing but VolumeSnapshots and movers, and it deletes only those with the ID. A mover
//     mounts its volume read-only.
//   - No pod of the application starts before the control has reached a forbidden address and the proof has not.
//     If the policy changes later, or another one appears, the rehearsal ends.
//   - It deletes objects of a namespace only if that namespace has the ID and the recorded UID.
//   - A volume that existed before its claim is never deleted.
//   - No mover runs any more when the pods start, and none is created after that.
//
// This package is pure: the same Facts give the same Step.
package rehearsal

import (
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/volumes"
)

// Object is the state of one object of a rehearsal.
type Object struct {
	// Ref names it. The UID in it is that of the object.
	volumes.Ref
	Found, Terminating bool
	// Ours is true if it has the ID of this rehearsal.
	Ours            bool
	ResourceVersion string
	// Created is when it was created, by the clock of this process.
	Created time.Time
	// Keeps are the finalizers that keep it while it is Terminating.
	Keeps []string
}

// Facts holds the state that a pass has read.
type Facts struct {
	Now time.Time
	// Stop is true if the rehearsal ends now, and its objects must be deleted.
	Stop bool
	// Ask describes the rehearsal. It is empty if only the objects of an earlier process are deleted.
	Ask    Ask
	Record Record
	// Latest are the latest requests to the source; nil if they are not measured, or not yet.
	Latest *Requests
	// Namespace is the namespace of the rehearsal. The facts below are about objects in it, except for snapshots and
	// movers. They are known only while the process is admitted.
	Namespace Object
	Admission Admission
	// Control is the pod that runs without a NetworkPolicy, and Proof the pod that runs behind it.
	Control, Proof Probe
	Policy         Policy
	// Copies are in the order of Ask.Copies, and Clones in that of Ask.Clones.
	Copies []Object
	Clones []Clone
	Set    Object
	Pods   []Pod
	// Gates are the answers of health gates. They are asked when all pods are Ready. Origin is read then, about
	// the pods of the source.
	Gates  []Gate
	Origin Origin
	Left   Left
}

// Ask describes the rehearsal: the StatefulSet, its clones and the time for its start.
type Ask struct {
	// Set is the name of the StatefulSet, which has Replicas ordinals from Start.
	Set             string
	Start, Replicas int32
	// Copies are the objects that the pods need.
	Copies []Named
	Clones []ClonePlan
	// Forbidden lists the addresses that pods must not reach.
	Forbidden []string
	// Within is how long the pods may take until they are Ready and the gates pass.
	Within time.Duration
	// LatencyLimit is the p99 of the requests to the source above which the rehearsal ends; 0 for no limit.
	LatencyLimit time.Duration
}

// Requests are the requests to the source in a short time.
type Requests struct {
	All, Failed int64
	P99         time.Duration
}

// Named identifies an object that is copied.
type Named struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Policy is the NetworkPolicy of a rehearsal.
type Policy struct {
	Object
	// Generation counts the changes of its spec.
	Generation int64
	// Others are the names of other policies in the namespace, each of which may allow something.
	Others []string
}

// Probe is a pod that tries to reach addresses.
type Probe struct {
	Object
	// Finished is true if it has ended with a result.
	Finished           bool
	Reached, Unreached []string
	// Trouble is why it does not run, or has failed.
	Trouble string
	// Priority is that of a pod without a PriorityClass in this cluster. Preempts is true if such a pod evicts pods of
	// others that name no PriorityClass, or a lower one that is not negative.
	Priority int32
	Preempts bool
}

// Verb is a kind of write.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Delete Verb = "delete"
	Update Verb = "update"
	// Loosen sets the reclaim policy of a clone's volume, or the deletion policy of a snapshot's content, to Delete.
	Loosen Verb = "loosen"
)

// Kind is the kind of the object of a write.
type Kind string

// The kinds.
const (
	KindNamespace Kind = "namespace"
	KindControl   Kind = "control pod"
	KindProof     Kind = "proof pod"
	KindPolicy    Kind = "NetworkPolicy"
	KindCopy      Kind = "copy"
	// KindTaken is a VolumeSnapshot at the source, KindContent and KindImport are its import.
	KindTaken   Kind = "VolumeSnapshot of the source"
	KindContent Kind = "VolumeSnapshotContent"
	KindImport  Kind = "imported VolumeSnapshot"
	KindClaim   Kind = "claim"
	KindVolume  Kind = "volume"
	KindSet     Kind = "StatefulSet"
	KindBinding Kind = "RoleBinding"
	// KindMover is a pod that reads or writes a volume.
	KindMover Kind = "mover"
)

// Write is one write.
type Write struct {
	Verb Verb
	Kind Kind
	// On is the object, with UID and ResourceVersion for a change or a deletion.
	On Object
	// AtSource is true if the object is in the source's cluster.
	AtSource bool
	// Copy is the object to copy, and Clone the index of a clone in Ask.Clones.
	Copy  Named
	Clone int
	// Size is the least size of a claim that is filled from a snapshot, in bytes.
	Size int64
	// Handle is the snapshot that a content imports.
	Handle string
	// Addresses are for a probe.
	Addresses []string
	// Carry is the step of a copy that this write is; nil for all others.
	Carry *volumes.Action
}

// String describes the write for the user.
func (w Write) String() string {
	name := w.On.Name
	if w.On.Namespace != "" {
		name = w.On.Namespace + "/" + name
	}
	kind, verb := string(w.Kind), string(w.Verb)
	if w.Kind == KindCopy {
		kind = "copy of " + w.Copy.Kind
	}
	switch {
	case w.Verb == Loosen:
		return "set policy Delete of " + kind + " " + name
	case w.Carry != nil && w.Carry.Verb == volumes.TellMover:
		return "introduce mover " + name + " to its peer"
	}
	return verb + " " + kind + " " + name
}

// Step is the result of a pass: at most one write, or one record to store, or a reason to wait.
type Step struct {
	Write *Write
	// Record is stored before the next pass.
	Record *Record
	// Wait names the condition that the rehearsal waits for.
	Wait string
	// Stuck is why it cannot continue until the user has acted.
	Stuck *volumes.Reason
	// Finished is true when nothing is left to do.
	Finished bool
}

func (s Step) none() bool {
	return s.Write == nil && s.Record == nil && s.Wait == "" && s.Stuck == nil && !s.Finished
}

// first returns the first step that is not empty.
func first(stages ...func() Step) Step {
	for _, stage := range stages {
		if step := stage(); !step.none() {
			return step
		}
	}
	return Step{}
}

// Next returns the next step of a rehearsal.
func Next(f Facts) Step {
	switch {
	case f.Record.End != nil:
		return f.end()
	case f.Stop:
		return f.ends(End{Outcome: Interrupted, Reason: ReasonInterrupted, Message: "the rehearsal was interrupted"})
	}
	return first(f.calm, f.namespace, f.admit, f.control, f.isolate, f.prove, f.copies, f.clones, f.start, f.ready, f.gates, f.conclude)
}

func (f Facts) write(verb Verb, kind Kind, on Object) Step {
	return Step{Write: &Write{Verb: verb, Kind: kind, On: on}}
}

// ends records the end of the rehearsal. Its objects are deleted after that.
func (f Facts) ends(end End) Step {
	next := f.Record
	end.Time = microTime(f.Now)
	next.End = &end
	return Step{Record: &next}
}

// namespace creates the namespace, and records its UID.
func (f Facts) namespace() Step {
	n := f.Namespace
	switch {
	case !n.Found && f.Record.NamespaceUID != "":
		return f.ends(failed("NamespaceDeleted", "namespace "+n.Name+" was deleted during the rehearsal", "rehearse again"))
	case !n.Found:
		return f.write(Create, KindNamespace, n)
	case !f.owned():
		return f.ends(refused("ForeignNamespace", "namespace "+n.Name+" exists, and this rehearsal did not create it: its objects belong to others", "rehearse again: each rehearsal has a namespace of its own name"))
	case n.Terminating:
		return f.ends(failed("NamespaceDeleted", "namespace "+n.Name+" is being deleted during the rehearsal", "rehearse again"))
	case f.Record.NamespaceUID == "":
		next := f.Record
		next.NamespaceUID = n.UID
		return Step{Record: &next}
	}
	return Step{}
}

// owned reports whether the namespace is the one that this rehearsal has created.
func (f Facts) owned() bool {
	n := f.Namespace
	return n.Found && n.Ours && (f.Record.NamespaceUID == "" || n.UID == f.Record.NamespaceUID)
}

// copies creates the objects that the pods need.
func (f Facts) copies() Step {
	for i, there := range f.Copies {
		switch {
		case !there.Found:
			step := f.write(Create, KindCopy, there)
			step.Write.Copy = f.Ask.Copies[i]
			return step
		case there.Terminating:
			return f.ends(failed("CopyDeleted", f.Ask.Copies[i].Kind+" "+there.Namespace+"/"+there.Name+" is being deleted during the rehearsal", "find what deletes it, and rehearse again"))
		}
	}
	return Step{}
}

// start creates the StatefulSet, and records its UID. Another one of its name would start on clones that pods have
// written to.
func (f Facts) start() Step {
	known := f.Record.SetUID
	switch {
	case !f.Set.Found && known == "":
		return f.write(Create, KindSet, f.Set)
	case !f.Set.Found, f.Set.Terminating, !f.Set.Ours, known != "" && known != f.Set.UID:
		return f.ends(failed("SetDeleted", "StatefulSet "+f.Set.Namespace+"/"+f.Set.Name+" was deleted or replaced during the rehearsal", "find what deletes it, and rehearse again"))
	case known == "":
		next := f.Record
		next.SetUID = f.Set.UID
		return Step{Record: &next}
	}
	return Step{}
}

// calm ends the rehearsal if the clients of the source notice it more than the user accepts.
func (f Facts) calm() Step {
	limit, latest := f.Ask.LatencyLimit, f.Latest
	if limit == 0 || latest == nil || latest.Failed == 0 && latest.P99 <= limit {
		return Step{}
	}
	return f.ends(failed(ReasonSourceSlow, fmt.Sprintf("of the last %d requests to the source %d failed, and 99 %% of the others took up to %s; the limit is %s", latest.All, latest.Failed, latest.P99, limit),
		"rehearse when the application has less to do, or accept more: --latency-limit"))
}
