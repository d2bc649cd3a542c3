package install

import (
	"context"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

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
		return false, command.Refusedf("cluster %s is of version %s, and impersonation is constrained from Kubernetes 1.36 on: the manager could act as nobody; leave out --%s", t.cluster, said, impersonationFlag)
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
