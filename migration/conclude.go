package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// unreachable is for a cluster that could not be asked.
func unreachable(err error) plan.Decision {
	if apierrors.IsForbidden(err) {
		return *plan.Stalled(api.ReasonPermissionMissing, oneLine(err), bindRoles)
	}
	return *plan.Stalled(api.ReasonClusterUnreachable, oneLine(err), remedyUnreachable)
}

// remedyUnreachable is for a cluster that does not answer.
const remedyUnreachable = "nothing is done on either side until it answers; check the cluster and the kubeconfig"

// conclude carries a decision out: the record, or one effect, or only the status.
func (e *Engine) conclude(ctx context.Context, m *api.Migration, s plan.Snapshot, decision plan.Decision) (Outcome, error) {
	outcome := Outcome{Snapshot: s, Decision: decision, Done: decision.Done != "", Again: againSafety}
	before := m.DeepCopy()
	e.ahead.gate = nil
	if decision.Effect != nil {
		if err := e.confirm(ctx, m, *decision.Effect); err != nil {
			return outcome, err
		}
		decision = e.effect(ctx, m, s, decision, &outcome)
		if outcome.Wrote || decision.Hold == nil {
			return outcome, nil
		}
		outcome.Decision = decision
	}
	if decision.Record != nil {
		outcome.Finished = plan.FinishedHandoff(s, *decision.Record)
		applyRecord(m, *decision.Record)
	}
	render(m, s, decision)
	outcome.Again = again(decision)
	if decision.Record == nil {
		if !changed(before, m) {
			return outcome, nil
		}
		if left := e.holdBack(before, decision); left > 0 {
			before.DeepCopyInto(m)
			outcome.Again = min(outcome.Again, left)
			return outcome, nil
		}
	}
	e.untold = time.Time{}
	if err := e.records.Save(ctx, m); err != nil {
		before.DeepCopyInto(m)
		e.engaged = e.engaged && apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
		return outcome, fmt.Errorf("writing the status of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	e.saved, outcome.Saved, outcome.Stalls = m.DeepCopy(), true, beginsToStall(before, m)
	if decision.Record != nil {
		e.engaged = m.Status.Claim != nil && m.Status.Claim.Holder == e.holder && (e.engaged || s.Record.Claim == nil || *s.Record.Claim != *m.Status.Claim)
		outcome.Again = againUnseen
	}
	return outcome, nil
}

// confirm makes sure, before a fence is written, that the record it is of is the newest:
// it is written again as it is, which is refused otherwise. The StatefulSet was read
// before, so that a fence written since, or taken off, refuses ours.
func (e *Engine) confirm(ctx context.Context, m *api.Migration, effect plan.Effect) error {
	if effect.Verb != plan.WriteFence {
		return nil
	}
	if err := e.records.Save(ctx, m); err != nil {
		return fmt.Errorf("confirming the record of Migration %s/%s: %w", m.Namespace, m.Name, err)
	}
	e.saved = m.DeepCopy()
	return nil
}

// holdBack is how much longer a status that tells of nothing but a wait is not worth
// a write; 0: write it now.
func (e *Engine) holdBack(before *api.Migration, decision plan.Decision) time.Duration {
	hold := decision.Hold
	if hold == nil || hold.Stalled || hold.Reason == api.ReasonPaused || decision.Done != "" ||
		meta.IsStatusConditionTrue(before.Status.Conditions, api.ConditionStalled) {
		return 0
	}
	if e.untold.IsZero() {
		e.untold = e.clock.Now()
	}
	return tellAfter - e.clock.Since(e.untold)
}

// again is when to look again though nothing that is watched has changed.
func again(decision plan.Decision) time.Duration {
	hold := decision.Hold
	switch {
	case decision.Wait > 0:
		return min(againSafety, decision.Wait)
	case hold == nil || !hold.Stalled:
		return againSafety
	case hold.Reason == api.ReasonClusterUnreachable:
		return againUnreachable
	default:
		return againRefused
	}
}

// effect carries one effect out. When it fails it returns what is to be reported
// instead; an unknown outcome is looked at again, never sent again blindly.
func (e *Engine) effect(ctx context.Context, m *api.Migration, s plan.Snapshot, decision plan.Decision, outcome *Outcome) plan.Decision {
	effect := *decision.Effect
	e.ahead.before(effect, e.sameCluster())
	object, err := e.execute(ctx, m, s, effect)
	cluster := e.place(effect.Side).cluster
	switch {
	case err == nil:
		outcome.Wrote, e.refused, e.untold = true, 0, time.Time{}
		e.lookAhead(ctx, effect)
		if watched(object) {
			e.wrote = &write{object: object, side: effect.Side, at: e.clock.Now()}
		} else {
			outcome.Again = againUnseen
		}
		return decision
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		if e.refused++; e.refused >= refusedOften {
			return refusedAgain(cluster, effect, err)
		}
		outcome.Again = againUnseen << (e.refused - 1)
		return plan.Decision{}
	case lacksRight(err):
		return *plan.Stalled(api.ReasonPermissionMissing, fmt.Sprintf("cluster %s refused to %s: %s", cluster, effect, oneLine(err)), bindRoles)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return *plan.Stalled(api.ReasonWriteRefused, fmt.Sprintf("cluster %s refused to %s: %s", cluster, effect, oneLine(err)), "look for an admission policy or webhook there")
	default:
		// It may still arrive: only a new epoch keeps it from doing harm.
		e.engaged = false
		return *plan.Stalled(api.ReasonClusterUnreachable, fmt.Sprintf("cluster %s did not answer when asked to %s: %s", cluster, effect, oneLine(err)), "nothing is done on either side until it answers")
	}
}

// refusedAgain is for a write that has met no such object, or a changed one, more often than
// it would by chance: each was judged on a fresh read. It is tried again all the same.
func refusedAgain(cluster string, effect plan.Effect, err error) plan.Decision {
	reason, remedy := refusedAs(err), "see who else writes the object: kubectl get --show-managed-fields -o yaml"
	if reason == api.ReasonNamespaceMissing {
		remedy = "see what became of the namespace, and make it again: kubectl get namespaces"
	}
	return *plan.Stalled(reason, fmt.Sprintf("cluster %s refuses again and again to %s: %s", cluster, effect, oneLine(err)), remedy)
}

// refusedAs is the reason of a write that was refused again and again. A namespace that is
// gone is named in the answer (kubernetes apiserver, admission plugin NamespaceLifecycle),
// also to an identity that may not read namespaces.
func refusedAs(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsNotFound(err) {
		if details := status.Status().Details; details != nil && details.Kind == "namespaces" {
			return api.ReasonNamespaceMissing
		}
	}
	return api.ReasonWriteRefused
}

// lacksRight says whether an API server refused a request for want of a right: admission
// and quotas answer with the same code, and in other words (kubernetes apiserver,
// handlers/responsewriters/errors.go, forbiddenMessage).
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`) && strings.Contains(err.Error(), " cannot ")
}

// watched says whether a view shows objects of this kind.
func watched(object client.Object) bool {
	switch object.(type) {
	case *appsv1.StatefulSet, *slicesapi.StatefulSet, *policyv1.PodDisruptionBudget, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *corev1.Service:
		return true
	default:
		return false
	}
}
