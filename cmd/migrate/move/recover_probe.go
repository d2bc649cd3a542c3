package move

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
)

// probeFor is the timeout of the probe of a destination that is said to be lost.
const probeFor = 5 * time.Second

// probe asks the destination of a run, where the kubeconfig still knows it, whether pods of
// the application are there: it says the contrary of what is about to be confirmed.
func (o *recoverOptions) probe(ctx context.Context, k *storedMigration, d *preview.Recovery) {
	name := k.Annotations[records.DestinationNameAnnotationKey]
	where, err := (&flags.Destination{Context: name}).Endpoint(o.Common)
	if !k.record || name == "" || err != nil {
		d.Answers = "was not asked: this kubeconfig does not lead there"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeFor)
	defer cancel()
	connection, err := where.Connect(nil)
	if err != nil {
		d.Answers = "was not asked: " + err.Error()
		return
	}
	id, err := connection.ID(ctx)
	switch {
	case err != nil:
		d.Answers = fmt.Sprintf("does not answer, which does not say that it is off: %v", err)
		return
	case string(id) != d.DestinationCluster:
		d.Answers = "was not asked: that context leads to another cluster now"
		return
	}
	pods := &corev1.PodList{}
	if err := connection.Live().List(ctx, pods, client.InNamespace(d.Destination.Namespace)); err != nil {
		d.Answers = fmt.Sprintf("ANSWERS, and its pods could not be listed: %v", err)
		return
	}
	for i := range pods.Items {
		rest, found := strings.CutPrefix(pods.Items[i].Name, d.Destination.StatefulSet+"-")
		if _, err := strconv.ParseUint(rest, 10, 31); found && err == nil {
			d.Running = append(d.Running, pods.Items[i].Name)
		}
	}
	d.Answers = fmt.Sprintf("ANSWERS, and has %s of the application", terminal.Count(len(d.Running), "pod"))
}
