package slice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// everyContainer is the name that stands for all containers.
const everyContainer = "*"

// setImageOptions are the options of the command set image.
type setImageOptions struct {
	targets
	// images maps names of containers to their new images.
	images  map[string]string
	manager string
	dryRun  command.DryRun
	result  command.Result
}

const setImageHelp = `Changes the images of containers and init containers in the template of StatefulSets. The
pods follow under the update strategy. The name '*' stands for all containers. Without a
change it prints nothing.

If the template is in a repository, change it there, too, or the old image returns.`

const setImageExamples = `  # A new image for one container, and wait for the roll-out
  migrate set image web app=registry.example.com/web:2 -n shop
  migrate rollout status web -n shop

  # Two containers of every StatefulSet with a label
  migrate set image -l app=web app=registry.example.com/web:2 proxy=registry.example.com/proxy:5 -n shop

  # All containers; only show the result
  migrate set image web '*=registry.example.com/web:2' -n shop --dry-run=server -o yaml`

func newSetImage(c *command.Common) *cobra.Command {
	o := &setImageOptions{targets: targets{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "image (NAME... | -l SELECTOR | --all) CONTAINER=IMAGE...", Short: "Change images in the template of a StatefulSet",
		Long: setImageHelp, Example: setImageExamples,
	})
	flags := cmd.Flags()
	o.addSelector(flags)
	flags.BoolVar(&o.all, "all", false, "every StatefulSet of the namespace")
	addManager(flags, &o.manager, setManager)
	o.dryRun = command.AddDryRun(flags, "only print the result")
	o.result = command.AddPrinter(cmd)
	return cmd
}

// Complete reads the names, and after them the images.
func (o *setImageOptions) Complete(cmd *cobra.Command, args []string) error {
	isPair := func(arg string) bool { return strings.Contains(arg, "=") }
	at := slices.IndexFunc(args, isPair)
	if at < 0 {
		return command.Usagef("at least one image update is required: CONTAINER=IMAGE")
	}
	o.images = map[string]string{}
	for _, arg := range args[at:] {
		name, image, found := strings.Cut(arg, "=")
		switch {
		case !found:
			return command.Usagef("all names must come before the images: %s", arg)
		case name == "" || image == "":
			return command.Usagef("%q is not an image update: CONTAINER=IMAGE", arg)
		}
		o.images[name] = image
	}
	return o.targets.Complete(cmd, args[:at])
}

// Validate rejects invalid combinations of flags and images.
func (o *setImageOptions) Validate() error {
	_, everything := o.images[everyContainer]
	switch {
	case o.all && o.selector != "":
		return command.Usagef("--all and --selector exclude each other")
	case everything && len(o.images) > 1:
		return command.Usagef("'*' already names all containers: give no other CONTAINER=IMAGE")
	}
	return o.result.Validate()
}

// Run changes the images of each set.
func (o *setImageOptions) Run(ctx context.Context) error {
	return o.each(ctx, func(s *statefulSet) error { return o.setImages(ctx, s) })
}

func (o *setImageOptions) setImages(ctx context.Context, s *statefulSet) error {
	const done = "image updated"
	if o.dryRun.Client() {
		changes, err := o.changes(s.StatefulSet)
		if err != nil || len(changes) == 0 {
			return err
		}
		for _, change := range changes {
			change.container.Image = change.image
		}
		return o.PrintResult(o.result, s.StatefulSet, done+o.dryRun.Suffix())
	}
	changed, err := s.patchLatest(ctx, func(set *slicesapi.StatefulSet) ([]map[string]any, error) {
		changes, err := o.changes(set)
		var patch []map[string]any
		for _, change := range changes {
			patch = append(patch, map[string]any{"op": "replace", "path": change.path, "value": change.image})
		}
		return patch, err
	}, &client.PatchOptions{DryRun: o.dryRun.OfRequest(), FieldManager: o.manager})
	if err != nil || !changed {
		return err
	}
	s.warnMoving(o.Common)
	s.warnPaused(o.Common)
	return o.PrintResult(o.result, s.StatefulSet, done+o.dryRun.Suffix())
}

// imageChange is a container whose image changes.
type imageChange struct {
	container *corev1.Container
	// path is the JSON pointer of the image.
	path, image string
}

// changes returns the containers of a set whose image changes. A name that no container has is an error, and then nothing
// changes.
func (o *setImageOptions) changes(set *slicesapi.StatefulSet) ([]imageChange, error) {
	unknown := maps.Clone(o.images)
	var changes []imageChange
	var names []string
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{{"initContainers", set.Spec.Template.Spec.InitContainers}, {"containers", set.Spec.Template.Spec.Containers}} {
		for i := range list.containers {
			container := &list.containers[i]
			names = append(names, container.Name)
			delete(unknown, container.Name)
			delete(unknown, everyContainer)
			if image := cmp.Or(o.images[container.Name], o.images[everyContainer], container.Image); image != container.Image {
				changes = append(changes, imageChange{container, fmt.Sprintf("/spec/template/spec/%s/%d/image", list.field, i), image})
			}
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		errs = append(errs, fmt.Errorf("StatefulSet %s/%s: unable to find container named %q, only: %s", set.Namespace, set.Name, name, strings.Join(names, ", ")))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return changes, nil
}

func newSet(c *command.Common) *cobra.Command {
	cmd := c.ParentCommand(&cobra.Command{
		Use:   "set",
		Short: "Change the images of a StatefulSet of apps.sliceshift.io",
		Long: `Changes the template of a StatefulSet of apps.sliceshift.io, as "kubectl set" does for
built-in kinds.`,
		Example: `  # A new image for one container
  migrate set image web app=registry.example.com/web:2 -n shop`,

		SuggestionsMinimumDistance: 2,
	})
	cmd.AddCommand(newSetImage(c))
	return cmd
}
