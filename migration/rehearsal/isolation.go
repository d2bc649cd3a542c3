package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/volumes"
)

// ProbeWithin is how long a probe may take from its creation to its end.
const ProbeWithin = 3 * time.Minute

// control runs a pod without a NetworkPolicy. An address that it cannot reach even so proves nothing about a policy.
func (f Facts) control() Step {
	if len(f.Record.Reached) > 0 {
		return Step{}
	}
	if f.Policy.Found || len(f.Policy.Others) > 0 {
		return f.ends(refused(ReasonNotProven, "a NetworkPolicy exists in namespace "+f.Namespace.Name+" before this rehearsal has created one: whether pods reach an address without it cannot be tried",
			"find what creates NetworkPolicies in new namespaces, and exclude namespaces whose names begin with rehearsal-"))
	}
	if f.Control.Preempts {
		return f.ends(refused("PodsPreempt", fmt.Sprintf("pods without a PriorityClass have priority %d in the destination's cluster, and preempt: the pods of a rehearsal would evict running pods of others", f.Control.Priority),
			"give the PriorityClass that is the global default preemptionPolicy Never, or rehearse in a cluster without one"))
	}
	if step := f.run(KindControl, f.Control, f.Ask.Forbidden); !step.none() {
		return step
	}
	if len(f.Control.Reached) == 0 {
		return f.ends(refused(ReasonNotProven, fmt.Sprintf("a pod in namespace %s reaches none of %s even without a NetworkPolicy, so a pod that does not reach them behind one proves nothing", f.Namespace.Name, listed(f.Ask.Forbidden)),
			"name an address that pods of the destination's cluster reach and that answers, such as a Service of the source: --forbid HOST:PORT"))
	}
	next := f.Record
	next.Reached = f.Control.Reached
	return Step{Record: &next}
}

// isolate creates the NetworkPolicy.
func (f Facts) isolate() Step {
	if !f.Policy.Found && f.Record.Isolation == nil {
		return f.write(Create, KindPolicy, f.Policy.Object)
	}
	return Step{}
}

// prove runs a pod behind the NetworkPolicy. Later it checks that the policy is still the proven one.
func (f Facts) prove() Step {
	p := f.Policy
	switch proven := f.Record.Isolation; {
	case len(p.Others) > 0:
		return f.ends(failed(ReasonNotIsolated, fmt.Sprintf("another NetworkPolicy is in namespace %s: %s; policies add up, so it may allow forbidden connections", f.Namespace.Name, listed(p.Others)), "find what creates it, and rehearse again"))
	case p.Terminating, proven != nil && (!p.Found || p.UID != proven.Policy || p.Generation != proven.Generation):
		return f.ends(failed(ReasonNotIsolated, fmt.Sprintf("NetworkPolicy %s/%s was changed or deleted during the rehearsal", f.Namespace.Name, p.Name), "find what changes it, and rehearse again"))
	case proven != nil:
		return Step{}
	}
	if step := f.run(KindProof, f.Proof, f.Record.Reached); !step.none() {
		return step
	}
	untried := func(address string) bool { return !slices.Contains(f.Proof.Unreached, address) }
	if len(f.Proof.Reached) > 0 || slices.ContainsFunc(f.Record.Reached, untried) {
		return f.ends(refused(ReasonNotIsolated, fmt.Sprintf("a pod behind a NetworkPolicy that denies it reaches %s: nothing in the destination's cluster enforces policies, or not from the start of a pod", listed(f.Proof.Reached)),
			"use a network plugin that enforces NetworkPolicies; if it always lets pods reach the API server of their own node, name another address that it denies: --forbid HOST:PORT"))
	}
	next := f.Record
	next.Isolation = &Isolation{Denied: f.Proof.Unreached, Policy: p.UID, Generation: p.Generation, Time: microTime(f.Now)}
	return Step{Record: &next}
}

// run creates a probe, and waits until it has ended. A probe that does not run proves nothing.
func (f Facts) run(kind Kind, p Probe, addresses []string) Step {
	name := p.Namespace + "/" + p.Name
	switch {
	case !p.Found:
		step := f.write(Create, kind, p.Object)
		step.Write.Addresses = addresses
		return step
	case p.Finished && !p.Terminating:
		return Step{}
	case p.Terminating, f.Now.Sub(p.Created) > ProbeWithin:
		return f.ends(refused(ReasonNotProven, fmt.Sprintf("pod %s, which tries the NetworkPolicy, has given no result%s", name, says(p.Trouble)),
			"check that the destination can pull its image and admits it (--image); then rehearse again"))
	}
	return Step{Wait: fmt.Sprintf("pod %s has tried %s%s", name, listed(addresses), says(p.Trouble))}
}

func says(trouble string) string {
	if trouble == "" {
		return ""
	}
	return ": " + trouble
}

// listed formats names for a sentence.
func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func named(ref volumes.Ref) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}
