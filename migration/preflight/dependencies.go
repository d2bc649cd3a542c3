package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// dependencies finds objects that the pods need and that the destination lacks, because an ordinal that is stopped
// and cannot start is an outage. The planner checks the objects that are copied. Here their copies are dry-run, and
// the objects that are never copied are looked up.
func (e *Inspector) dependencies(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	storage, left, err := e.namedByStorage(ctx, m, source)
	if err != nil {
		return nil, err
	}
	if !e.copies(m) {
		refs := dependencies.Walk(source.Spec.Template.Spec, world.ClaimTemplates(source))
		findings, err := e.missing(ctx, append(needed(refs, func(dependencies.Kind) bool { return true }), storage...))
		return append(findings, left...), err
	}
	needs, err := world.ReadNeeds(ctx, e.Source, source)
	if err != nil {
		return nil, err
	}
	findings, err := e.missing(ctx, append(needed(needs.References, func(kind dependencies.Kind) bool { return !kind.Copied }), storage...))
	if err != nil {
		return nil, err
	}
	more, err := e.copiesRefused(ctx, m, source, needs)
	return slices.Concat(findings, left, more), err
}

// copies reports whether the migration copies dependencies to the destination. In one namespace there is nothing to
// copy.
func (e *Inspector) copies(m *api.Migration) bool {
	return m.Spec.Dependencies.Mode == api.DependenciesCopy && !e.SameNamespace()
}

// copiesRefused dry-runs the copies at the destination's API server. This covers admission, and whether a role grants
// more than its creator has (kubernetes pkg/registry/rbac, escalation_check.go).
func (e *Inspector) copiesRefused(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet, needs world.Needs) ([]plan.Finding, error) {
	list, err := world.NewCopyReader(e.Pair, m, e.Policy).Read(ctx, source, needs)
	if err != nil {
		return nil, err
	}
	executor := world.New(m, e.Pair, e.Policy)
	var findings []plan.Finding
	for _, d := range list {
		leaves := d.SelectsOthers != "" && m.Spec.Dependencies.SelectsOthers != api.SelectsOthersCopy
		if d.Copy.Found || d.Origin == "" || d.Unserved || leaves || d.Barred.Reason != "" {
			continue
		}
		copied, _, err := executor.CopyOf(ctx, plan.Effect{Verb: plan.CreateCopy, Side: plan.DestinationSide, Kind: d.Kind, Name: d.Name, Copied: plan.Copied{Origin: d.Origin}})
		if apierrors.IsConflict(err) {
			continue // it was changed concurrently, and the next run reads it
		}
		if err != nil {
			return nil, err
		}
		finding, err := copyRefused(e.Destination, d, e.Destination.Live.Create(ctx, copied, client.DryRunAll))
		if err != nil {
			return nil, err
		}
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}

func copyRefused(at endpoint.Endpoint, d plan.Dependency, err error) (*plan.Finding, error) {
	what := fmt.Sprintf("%s %s/%s in cluster %s", d.Kind, at.Namespace, d.Name, at.Cluster)
	gives := d.Kind == dependencies.Role || d.Kind == dependencies.RoleBinding
	switch {
	case apierrors.IsForbidden(err) && gives && !endpoint.LacksRight(err):
		return &plan.Finding{
			Reason: api.ReasonWriteRefused, Object: what,
			Message: "a copy of " + what + " would be rejected, because the mover cannot grant permissions that it does not have: " + endpoint.OneLine(err),
			Remedy:  "grant the permissions of that role to the identity that is used there, or create the object there yourself",
		}, nil
	case endpoint.LacksRight(err):
		return &plan.Finding{
			Reason: api.ReasonPermissionMissing, Object: what,
			Message: "a copy of " + what + " cannot be created: " + endpoint.OneLine(err),
			Remedy:  plan.RemedyDependencyRights,
		}, nil
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsInternalError(err):
		return &plan.Finding{
			Reason: api.ReasonWriteRefused, Object: what,
			Message: "a copy of " + what + " would be rejected: " + endpoint.OneLine(err),
			Remedy:  "find the admission policy, webhook or limit there, and let it allow the object; or create the object there yourself",
		}, nil
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err): // the namespace has its own check
		return nil, nil
	default:
		return nil, err
	}
}

// withAccount returns the source in a form that can be dry-run before its ServiceAccount is copied: with the default
// account of the namespace. The dry run with its own account follows before the first ordinal is stopped.
func (e *Inspector) withAccount(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
	name := source.Spec.Template.Spec.ServiceAccountName
	if m.Spec.Dependencies.Mode != api.DependenciesCopy || name == "" {
		return source, nil
	}
	account, err := endpoint.Get[corev1.ServiceAccount](ctx, e.Destination.Live, e.Destination.Key(name))
	if account != nil || err != nil {
		return source, err
	}
	source = source.DeepCopy()
	source.Spec.Template.Spec.ServiceAccountName, source.Spec.Template.Spec.DeprecatedServiceAccount = "", ""
	return source, nil
}

// accountIsMissing reports whether a ServiceAccount is not copied yet.
func accountIsMissing(all plan.Dependencies) bool {
	return slices.ContainsFunc(all.List, func(d plan.Dependency) bool {
		return d.Kind == dependencies.ServiceAccount && d.Origin != "" && !d.Copy.Found
	})
}

// copyRights returns the additional rights of copies: to read the originals on one side, and to write the copies on
// the other. Rights for kinds that few applications use are not required before they are needed.
func copyRights(m *api.Migration, at endpoint.Endpoint) []Rule {
	if m.Spec.Dependencies.Mode != api.DependenciesCopy {
		return nil
	}
	var rules []Rule
	for _, kind := range dependencies.Copied() {
		verbs := "get"
		switch {
		case kind.Name == dependencies.ResourceClaimTemplate, kind.Name == dependencies.SecretProviderClass:
			continue
		case kind.Storage:
			continue // every move has them
		case at.Side == plan.DestinationSide:
			verbs = "get create update"
			if m.Spec.Dependencies.Cleanup == api.CleanupDelete {
				verbs += " list delete"
			}
		case kind.Name == dependencies.RoleBinding, kind.Name == dependencies.Service, kind.Name == dependencies.NetworkPolicy:
			verbs = "get list"
		}
		rules = append(rules, Rule{Group: kind.Group, Resource: kind.Resource, Verbs: verbs})
	}
	return rules
}
