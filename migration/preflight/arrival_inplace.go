package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// inPlace dry-runs the writes by which an ordinal is stopped in place and starts again. Nothing takes back the deletion of
// its first claim, so that each later write that would be refused must be known before.
func (c arrivalChecks) inPlace(ctx context.Context) (*plan.Finding, error) {
	checks := []func(context.Context) (*plan.Finding, error){c.pod, c.eviction}
	for _, template := range c.replaced() {
		name := plan.ClaimName(template, c.Source.Set, c.about.Ordinal)
		checks = append(checks,
			func(ctx context.Context) (*plan.Finding, error) { return c.claimDeletion(ctx, name) },
			func(ctx context.Context) (*plan.Finding, error) { return c.nextClaim(ctx, template, name) })
	}
	for _, check := range checks {
		if finding, err := check(ctx); finding != nil || err != nil {
			return finding, err
		}
	}
	return nil, nil
}

// replaced returns the claim templates of the ordinal that get new volumes.
func (c arrivalChecks) replaced() []string {
	status := c.about.Migration.Status
	if status.Handoff == nil || status.Handoff.Ordinal != c.about.Ordinal || status.Storage == nil || status.Storage.Handoff == nil {
		return nil
	}
	var templates []string
	for _, claim := range status.Storage.Handoff.Claims {
		templates = append(templates, claim.ClaimTemplate)
	}
	return templates
}

// eviction dry-runs the eviction of the ordinal's pod.
func (c arrivalChecks) eviction(ctx context.Context) (*plan.Finding, error) {
	at, name := c.Source, plan.PodName(c.Source.Set, c.about.Ordinal)
	what := fmt.Sprintf("the eviction of pod %s/%s in cluster %s", at.Namespace, name, at.Cluster)
	err := world.Evict(ctx, at, name, nil, client.DryRunAll)
	if apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		return &plan.Finding{
			Reason: api.ReasonBudgetZero, Object: what, Message: what + " would be refused: " + endpoint.OneLine(err),
			Remedy: "see how many disruptions it allows: " + at.Kubectl().Do("describe", "pdb", "-n", at.Namespace),
		}, nil
	}
	return c.answered(what, &policyv1.Eviction{}, err)
}

// claimDeletion dry-runs the deletion of a claim in its present version.
func (c arrivalChecks) claimDeletion(ctx context.Context, name string) (*plan.Finding, error) {
	at := c.Source
	claim, err := endpoint.Get[corev1.PersistentVolumeClaim](ctx, at.Live, at.Key(name))
	if claim == nil || err != nil || claim.DeletionTimestamp != nil {
		return nil, err
	}
	err = at.Live.Delete(ctx, claim, client.DryRunAll, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion})
	if apierrors.IsConflict(err) {
		return nil, nil // it has changed, and is judged again
	}
	return c.answered(fmt.Sprintf("the deletion of claim %s/%s in cluster %s", at.Namespace, name, at.Cluster), claim, err)
}

// nextClaim dry-runs the creation of the next claim of a name, as the controller of the set creates it. That the name is
// taken is the last thing that an API server finds. A quota says nothing: the present claim uses it until then.
func (c arrivalChecks) nextClaim(ctx context.Context, template, name string) (*plan.Finding, error) {
	at := slices.IndexFunc(c.set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == template })
	if at < 0 {
		return nil, nil
	}
	like := c.set.Spec.VolumeClaimTemplates[at].DeepCopy()
	next := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Source.Namespace, Name: name, Labels: map[string]string{}, Annotations: like.Annotations}, Spec: like.Spec}
	maps.Copy(next.Labels, like.Labels)
	if c.set.Spec.Selector != nil {
		maps.Copy(next.Labels, c.set.Spec.Selector.MatchLabels)
	}
	err := c.Source.Live.Create(ctx, next, client.DryRunAll)
	if err != nil && endpoint.OverQuota(err) {
		return nil, nil
	}
	return c.answered(fmt.Sprintf("the next claim %s/%s in cluster %s", c.Source.Namespace, name, c.Source.Cluster), next, err)
}

// answered returns the finding for the answer to the dry run of a write; nil if it would be accepted, or is judged again.
func (c arrivalChecks) answered(what string, object client.Object, err error) (*plan.Finding, error) {
	if err != nil && endpoint.LacksRight(err) {
		return &plan.Finding{Reason: api.ReasonPermissionMissing, Object: what, Message: what + " would be refused: " + endpoint.OneLine(err), Remedy: plan.RemedyRights}, nil
	}
	return only(refusalOf(c.Source, what, object, err))
}
