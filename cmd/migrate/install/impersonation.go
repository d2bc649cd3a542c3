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

// firstConstrained is the first version of Kubernetes that constrains impersonation unless it is told otherwise.
var firstConstrained = version.MustParseGeneric("1.36.0")

// constrains says whether what the manager does as other accounts is to be bounded. Before Kubernetes 1.36 it cannot be:
// the verbs of the roles are not known there, and the manager could act as nobody.
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

// applyManager applies what runs the manager, and the bounds of its impersonation before it needs them, or removes these
// when it does not need them any more.
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
