package flags

import (
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// Destination holds the destination of the replicas.
type Destination struct {
	Kubeconfig, Context, Namespace, Name string
}

// whereTo is the title of these flags in the help.
const whereTo = "Destination"

// Add adds all flags.
func (f *Destination) Add(flags *pflag.FlagSet) {
	f.AddCluster(flags)
	f.AddPlace(flags)
}

// AddCluster adds the flags that select the cluster.
func (f *Destination) AddCluster(flags *pflag.FlagSet) {
	command.FlagGroup(flags, whereTo, func() {
		flags.StringVar(&f.Kubeconfig, "to-kubeconfig", "", "kubeconfig file of the destination's cluster (default: the source's)")
		flags.StringVar(&f.Context, "to-context", "", "context of the destination's cluster (default: the source's, or the current one of --to-kubeconfig)")
	})
}

// AddPlace adds the flags for the place within the cluster.
func (f *Destination) AddPlace(flags *pflag.FlagSet) {
	command.FlagGroup(flags, whereTo, func() {
		flags.StringVar(&f.Namespace, "to-namespace", "", "namespace of the destination (default: the source's)")
		flags.StringVar(&f.Name, "to-name", "", "name of the destination StatefulSet (default: the source's)")
	})
}

// Empty reports whether no flag was set.
func (f *Destination) Empty() bool { return *f == Destination{} }

// check rejects invalid object names. Otherwise a plan would succeed, and the run would fail in the middle.
func (f *Destination) check() error {
	if problems := validation.IsDNS1123Label(f.Namespace); f.Namespace != "" && len(problems) > 0 {
		return command.Usagef("--to-namespace: no namespace can be called %q: %s", f.Namespace, strings.Join(problems, "; "))
	}
	if problems := validation.IsDNS1123Subdomain(f.Name); f.Name != "" && len(problems) > 0 {
		return command.Usagef("--to-name: no StatefulSet can be called %q: %s", f.Name, strings.Join(problems, "; "))
	}
	return nil
}

// Endpoint returns the cluster that the flags select.
func (f *Destination) Endpoint(c *command.Common) (command.Endpoint, error) {
	return c.EndpointAt(f.Kubeconfig, f.Context, "--to-kubeconfig or --to-context")
}

// SecretRef parses the value of a flag that names a Secret with a kubeconfig: NAME or NAME/KEY.
func SecretRef(flag, text string) (*api.SecretKeyReference, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // nil is the API's "the cluster that holds this object"
	}
	name, key, found := strings.Cut(text, "/")
	if !found {
		key = "value"
	}
	if name == "" || key == "" || strings.Contains(key, "/") {
		return nil, command.Usagef("--%s must be NAME or NAME/KEY, not %q", flag, text)
	}
	return &api.SecretKeyReference{Name: name, Key: key}, nil
}
