package slice

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/slices/history"
)

// changeCauseAnnotationKey is where kubectl reads the cause of a change.
const changeCauseAnnotationKey = "kubernetes.io/change-cause"

// rolloutHistoryOptions are the options of the command rollout history.
type rolloutHistoryOptions struct {
	targets
	revision int64
	result   command.Result
}

const rolloutHistoryHelp = `Lists the revisions of a StatefulSet that are kept, the one of its template last; with
--revision the template of one of them. Revision inputs are shown with the hashes of their
contents, never with their data.`

const rolloutHistoryExamples = `  # Which revisions there are
  migrate rollout history web -n shop

  # The template of revision 3
  migrate rollout history web -n shop --revision 3`

func newRolloutHistory(c *command.Common) *cobra.Command {
	o := &rolloutHistoryOptions{targets: targets{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "history (NAME... | -l SELECTOR)", Short: "List the revisions of a StatefulSet",
		Long: rolloutHistoryHelp, Example: rolloutHistoryExamples,
	})
	cmd.Flags().Int64Var(&o.revision, "revision", 0, "show the template of this revision")
	o.addSelector(cmd.Flags())
	o.result = command.AddPrinter(cmd)
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *rolloutHistoryOptions) Validate() error {
	return cmp.Or(validateRevision("--revision", o.revision), o.result.Validate())
}

// Run prints the revisions of each set.
func (o *rolloutHistoryOptions) Run(ctx context.Context) error {
	return o.each(ctx, func(s *statefulSet) error { return o.print(ctx, s) })
}

func (o *rolloutHistoryOptions) print(ctx context.Context, s *statefulSet) error {
	revisions, err := s.revisions(ctx)
	if err != nil {
		return err
	}
	if o.revision > 0 {
		revision, err := s.numbered(revisions, o.revision)
		if err != nil {
			return err
		}
		revisions = []*appsv1.ControllerRevision{revision}
	}
	if o.result.Format() != "" {
		return o.printRevisions(revisions)
	}
	if o.revision > 0 {
		return printRevision(o.Out, s, revisions[0])
	}
	return printHistory(o.Out, s, revisions)
}

func validateRevision(flag string, revision int64) error {
	if revision < 0 {
		return command.Usagef("%s must not be negative", flag)
	}
	return nil
}

// revisions returns the revisions of the set, the oldest first.
func (s *statefulSet) revisions(ctx context.Context) ([]*appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	if err := s.connection.Live().List(ctx, &list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("cluster %s: listing the ControllerRevisions of namespace %s: %w", s.connection.Name(), s.Namespace, err)
	}
	var owned []*appsv1.ControllerRevision
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], s.StatefulSet) {
			owned = append(owned, &list.Items[i])
		}
	}
	slices.SortFunc(owned, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.Name, b.Name))
	})
	return owned, nil
}

// numbered returns the revision with a number.
func (s *statefulSet) numbered(revisions []*appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	i := slices.IndexFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r.Revision == number })
	if i < 0 {
		return nil, fmt.Errorf("unable to find specified revision %d in history of %s", number, s.title())
	}
	return revisions[i], nil
}

func (o *rolloutHistoryOptions) printRevisions(revisions []*appsv1.ControllerRevision) error {
	if o.revision > 0 || o.result.Format() == "name" {
		for _, revision := range revisions {
			if err := o.PrintResult(o.result, revision, ""); err != nil {
				return err
			}
		}
		return nil
	}
	list := &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for _, revision := range revisions {
		revision.TypeMeta = metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision"}
		list.Items = append(list.Items, runtime.RawExtension{Object: revision})
	}
	return o.PrintResult(o.result, list, "")
}

// printHistory lists revisions as kubectl does.
func printHistory(out io.Writer, s *statefulSet, revisions []*appsv1.ControllerRevision) error {
	fmt.Fprintf(out, "%s\n", s.kubectlName())
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	shown := slices.ContainsFunc(revisions, hasInputs)
	header := "REVISION\tCHANGE-CAUSE"
	if shown {
		header += "\tINPUTS"
	}
	fmt.Fprintln(table, header)
	for _, revision := range revisions {
		fmt.Fprintf(table, "%d\t%s", revision.Revision, cmp.Or(revision.Annotations[changeCauseAnnotationKey], "<none>"))
		if shown {
			fmt.Fprint(table, "\t", cmp.Or(inputsCell(revision), "<none>"))
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// printRevision prints the template of a revision.
func printRevision(out io.Writer, s *statefulSet, revision *appsv1.ControllerRevision) error {
	template, err := history.Apply(revision)
	if err != nil {
		return err
	}
	data, err := yaml.Marshal(template)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(strings.TrimRight(string(data), "\n"), "\n", "\n  ")
	_, err = fmt.Fprintf(out, "%s with revision #%d\nPod Template:\n  %s\n%s", s.kubectlName(), revision.Revision, text, inputsText(revision))
	return err
}
