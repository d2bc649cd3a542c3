package install

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// The flags of the admission policies.
const (
	authorsFlag = "check-authors"
	fenceFlag   = "fence"
	volumesFlag = "guard-volumes"
)

// desired is the desired state of a policy.
type desired int

const (
	unchanged desired = iota
	applied
	removed
)

// policy holds the admission policies that one flag controls.
type policy struct {
	objects []*unstructured.Unstructured
	want    desired
	// asked is false if the policy is applied by default. The cluster then need not know its kind.
	asked bool
	// means is the message that is printed if the policy did not exist before.
	means string
}

// policies returns the policies with their desired state, according to the flags.
func (o *installOptions) policies(p *parts) []policy {
	return []policy{
		{
			objects: p.authors, want: o.wish(authorsFlag, o.authors, !o.crdsOnly), asked: o.asked[authorsFlag],
			means: "the author of a Migration must now be allowed to impersonate its ServiceAccount and to get its Secrets; --check-authors=false removes the policies",
		},
		{objects: p.fence, want: o.wish(fenceFlag, o.fence, false), asked: o.asked[fenceFlag]},
		{
			objects: p.volumes, want: o.wish(volumesFlag, o.volumes, false), asked: o.asked[volumesFlag],
			means: "no mover is limited until a ConfigMap of the manager's namespace names it: docs/security.md#what-movers-may-do-with-volumes",
		},
	}
}

// wish returns the desired state of a policy for a flag. byDefault is whether on applies if the flag was not set.
func (o *installOptions) wish(flag string, on, byDefault bool) desired {
	switch {
	case on && (o.asked[flag] || byDefault):
		return applied
	case o.asked[flag]:
		return removed
	}
	return unchanged
}

// settle applies or deletes a policy.
func (p policy) settle(ctx context.Context, t *target) error {
	switch p.want {
	case unchanged:
		return nil
	case removed:
		return t.removeAll(ctx, p.objects)
	case applied:
	}
	before := t.tally.created
	err := t.applyAll(ctx, p.objects)
	switch {
	case err != nil && !p.asked && meta.IsNoMatchError(err):
		fmt.Fprintf(t.out, "%s left out: cluster %s is older than Kubernetes 1.30, and has no such policies; grant the right to create Migrations there only to users who may use every ServiceAccount and Secret of the namespace\n",
			titleOf(p.objects[0]), t.cluster)
		return nil
	case err == nil && p.means != "" && t.tally.created > before:
		fmt.Fprintf(t.out, "  %s\n", p.means)
	}
	return err
}

// The values of --impersonation.
const (
	impersonationFlag = "impersonation"
	constrained       = "constrained"
	legacy            = "legacy"
	automatic         = "auto"
)

// firstConstrained is the first version of Kubernetes with constrained impersonation enabled by default.
var firstConstrained = version.MustParseGeneric("1.36.0")

// constrains reports whether impersonation by the manager is constrained. Before Kubernetes 1.36 it must not be: the
// verbs of the roles are unknown there, so the manager could impersonate no account.
func (o *installOptions) constrains(ctx context.Context, t *target) (bool, error) {
	if o.impersonation.Value == legacy || o.crdsOnly {
		return false, nil
	}
	said, err := t.version(ctx)
	if err != nil {
		return false, command.Unreachable(t.cluster, err)
	}
	found, err := version.ParseGeneric(said)
	known := err == nil && found.AtLeast(firstConstrained)
	if !known && o.impersonation.Value == constrained {
		return false, command.Refusedf("cluster %s runs version %s, and constrained impersonation needs Kubernetes 1.36: the manager could not impersonate any ServiceAccount; omit --%s", t.cluster, said, impersonationFlag)
	}
	return known, nil
}

// applyManager applies the objects of the manager. It applies the roles for constrained impersonation first, or deletes
// them if they are no longer needed.
func (o *installOptions) applyManager(ctx context.Context, t *target, p *parts, bounded bool) error {
	if bounded {
		if err := t.applyAll(ctx, p.bounds); err != nil {
			return err
		}
	}
	if err := t.applyAll(ctx, p.manager); err != nil || bounded {
		return err
	}
	return t.removeAll(ctx, p.bounds)
}
