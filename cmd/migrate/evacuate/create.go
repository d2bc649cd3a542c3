package evacuate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/view"
)

// creation holds the flags that write the plan for the manager of the source's cluster.
type creation struct {
	name, namespace string
	secret          string
	account         string

	destination *api.SecretKeyReference
}

// add adds the flags.
func (c *creation) add(f *pflag.FlagSet) {
	command.FlagGroup(f, "Write it for a manager", func() {
		f.StringVar(&c.name, "create", "", "write an Evacuation of this `NAME`, and a Migration for each StatefulSet that can move, for the manager of the source's cluster")
		f.StringVar(&c.namespace, "create-in", "", "`NAMESPACE` of these objects")
		f.StringVar(&c.secret, "destination-secret", "", "Secret of that namespace with the kubeconfig of the destination's cluster, as `NAME[/KEY]` (default KEY: value)")
		f.StringVar(&c.account, "service-account", "", "ServiceAccount of that namespace under which the source's cluster is read and written")
	})
}

// validate rejects invalid combinations of flags.
func (c *creation) validate() (err error) {
	if c.name == "" {
		if c.namespace+c.secret+c.account != "" {
			return command.Usagef("--create-in, --destination-secret and --service-account are for --create")
		}
		return nil
	}
	for flag, value := range map[string]string{"create-in": c.namespace, "destination-secret": c.secret} {
		if value == "" {
			return command.Usagef("--create needs --%s", flag)
		}
	}
	if problems := validation.IsDNS1123Label(c.name); len(problems) > 0 {
		return command.Usagef("--create: no Evacuation can be called %q: %s", c.name, problems[0])
	}
	c.destination, err = flags.SecretRef("destination-secret", c.secret)
	return err
}

// migrationName returns the name of a set's Migration. Two sets never have the same one.
func migrationName(set evacuate.Name) string {
	const digits = 8
	name := set.Namespace + "-" + set.Name
	sum := sha256.Sum256([]byte(set.String()))
	if room := validation.DNS1123LabelMaxLength - digits - 1; len(name) > room {
		name = strings.TrimRight(name[:room], ".") // a label of a name does not begin with a hyphen
	}
	return name + "-" + hex.EncodeToString(sum[:])[:digits]
}

// objects returns the Migrations of the sets that move, and their Evacuation.
func (c *creation) objects(p evacuate.Plan, specs map[evacuate.Name]api.MigrationSpec, atOnce int) ([]*api.Migration, *api.Evacuation) {
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name}, Spec: api.EvacuationSpec{Mode: api.EvacuationRun}}
	if len(shortages(p)) > 0 {
		e.Spec.Mode = api.EvacuationPause
	}
	if atOnce > 0 {
		e.Spec.MaxActive = new(int32(atOnce)) //nolint:gosec // a number that a user typed
	}
	var migrations []*api.Migration
	for _, row := range p.Rows {
		set := row.Set
		entry := api.EvacuatedMigration{Name: migrationName(set.Name), Wave: set.Wave, Planned: &api.PlannedMove{
			BeginSeconds: int64(row.Begin.Seconds()), EndSeconds: int64(math.Ceil(row.End.Seconds())), Ordinals: int32(len(set.Ordinals)), //nolint:gosec // a number of pods
		}}
		for _, edge := range row.After {
			entry.After = append(entry.After, migrationName(edge.On))
		}
		e.Spec.Migrations = append(e.Spec.Migrations, entry)
		m := &api.Migration{Spec: specs[set.Name]}
		m.Namespace, m.Name = c.namespace, entry.Name
		m.Labels = map[string]string{api.EvacuationLabelKey: c.name}
		m.Annotations = map[string]string{api.EvacuationHeldAnnotationKey: c.name}
		m.Spec.Source.Namespace, m.Spec.Destination.KubeConfigSecretRef = set.Namespace, c.destination
		m.Spec.Mode, m.Spec.ServiceAccountName, m.Spec.Wave = api.ModePause, c.account, 0 // the Evacuation has the waves
		migrations = append(migrations, m)
	}
	return migrations, e
}

// create writes the objects of a plan: the Migrations first, which begin nothing, so that the command can be repeated.
func (r *reader) create(ctx context.Context, p evacuate.Plan) error {
	for _, object := range []client.Object{&api.Migration{}, &api.Evacuation{}} {
		served, err := r.source.Serves(ctx, object)
		switch {
		case err != nil:
			return command.Unreachable(r.source.Name(), err)
		case !served:
			return fmt.Errorf("cluster %s does not serve %T of %s: install the manager there first", r.source.Name(), object, api.GroupVersion)
		}
	}
	migrations, e := r.creation.objects(p, r.specs, r.limits.Sets)
	if len(migrations) == 0 {
		return command.Refusedf("no StatefulSet can move, so nothing was written")
	}
	if err := errors.Join(fits(e.Spec), r.expectMeans(ctx), r.expectNone(ctx, e)); err != nil {
		return err
	}
	exists, err := r.written(ctx, migrations)
	if err != nil {
		return err
	}
	c := r.source.Live()
	for _, m := range migrations {
		if exists[m.Name] {
			continue
		}
		if err := c.Create(ctx, m); err != nil {
			return fmt.Errorf("cluster %s: creating Migration %s/%s: %w", r.source.Name(), m.Namespace, m.Name, err)
		}
	}
	if err := c.Create(ctx, e); err != nil {
		return fmt.Errorf("cluster %s: creating Evacuation %s/%s: %w", r.source.Name(), e.Namespace, e.Name, err)
	}
	fmt.Fprintf(r.ErrOut, "Evacuation %s/%s created, with %s\n", e.Namespace, e.Name, view.Count(len(migrations), "Migration"))
	if short := shortages(p); len(short) > 0 {
		fmt.Fprintf(r.ErrOut, "It is paused, because cluster %s has too little for all: %s. To begin it nevertheless, such as where nodes are added for Pending pods: %s\n",
			r.destination.Name(), strings.Join(short, "; "), r.Again("resume", "evacuation/"+e.Name, e.Namespace))
	}
	if why := command.Unattended(ctx, c, r.source.Name(), r.Clock.Now()); why != "" {
		fmt.Fprintf(r.ErrOut, "warning: %s, so nothing happens with this Evacuation until one runs: %s\n", why, r.InstallCommand(r.source.Flags()))
	}
	return nil
}

// shortages names the resources of the destination that the plan needs more of than is free.
func shortages(p evacuate.Plan) (all []string) {
	for _, room := range p.Short() {
		all = append(all, fmt.Sprintf("%s (%s needed, %s free)", room.What, room.Needs.String(), room.Free.String()))
	}
	if n := len(p.Unplaced); n > 0 {
		all = append(all, fmt.Sprintf("no node has room for %s, the first of which is %s-%d", view.Count(n, "pod"), p.Unplaced[0].Set, p.Unplaced[0].Ordinal))
	}
	return all
}

// The limits of the list of an Evacuation: the number of its entries in the resource definition, and its size. The API
// server stores the names of the entries again as managed fields, and the status lists them, too.
const (
	mostEntries = 1000
	mostSpec    = 512 << 10
)

// fits refuses a list that would not fit into one object.
func fits(spec api.EvacuationSpec) error {
	if n := len(spec.Migrations); n > mostEntries {
		return command.Refusedf("%d StatefulSets can move, and an Evacuation has at most %d: nothing was written; select fewer with -n or -l, and write several", n, mostEntries)
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if len(data) > mostSpec {
		return command.Refusedf("the order of %d StatefulSets takes %s, and an Evacuation at most %s: nothing was written; select fewer with -n or -l, or leave out dependencies with --independent",
			len(spec.Migrations), view.Size(int64(len(data))), view.Size(mostSpec))
	}
	return nil
}

// owns reports whether a Migration is of the Evacuation that the command writes: the command may be repeated.
func (c *creation) owns(m *api.Migration) bool {
	return c.name != "" && m.Namespace == c.namespace && m.Labels[api.EvacuationLabelKey] == c.name
}

// expectMeans returns an error if the Secret or the account of the Migrations does not exist. Without the right to read
// them, that is not known.
func (r *reader) expectMeans(ctx context.Context) error {
	c := r.source.Live()
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: r.creation.namespace, Name: r.creation.destination.Name}, secret)
	switch key := r.creation.destination.Key; {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("cluster %s has no Secret %s/%s: create it with a kubeconfig of cluster %s first; nothing was written", r.source.Name(), r.creation.namespace, r.creation.destination.Name, r.destination.Name())
	case err == nil && len(secret.Data[key]) == 0:
		return fmt.Errorf("cluster %s: Secret %s/%s has no key %s, which --destination-secret names; nothing was written", r.source.Name(), secret.Namespace, secret.Name, key)
	case err != nil && !apierrors.IsForbidden(err):
		return command.Unreachable(r.source.Name(), err)
	}
	if r.creation.account == "" {
		return nil
	}
	err = c.Get(ctx, client.ObjectKey{Namespace: r.creation.namespace, Name: r.creation.account}, &corev1.ServiceAccount{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("cluster %s has no ServiceAccount %s/%s: create it with the rights of a move first; nothing was written", r.source.Name(), r.creation.namespace, r.creation.account)
	case err != nil && !apierrors.IsForbidden(err):
		return command.Unreachable(r.source.Name(), err)
	}
	return nil
}

// expectNone returns an error if the Evacuation exists: it would not list the Migrations that are written for it now.
func (r *reader) expectNone(ctx context.Context, e *api.Evacuation) error {
	err := r.source.Live().Get(ctx, client.ObjectKeyFromObject(e), &api.Evacuation{})
	switch {
	case err == nil:
		return fmt.Errorf("cluster %s has an Evacuation %s/%s already, and nothing was written: to see it, %s; to write one of the rest, delete it first, which stops no Migration",
			r.source.Name(), e.Namespace, e.Name, r.Again("status", "evacuation/"+e.Name, e.Namespace))
	case apierrors.IsNotFound(err):
		return nil
	default: // one that may not be read may exist
		return command.Unreachable(r.source.Name(), err)
	}
}
