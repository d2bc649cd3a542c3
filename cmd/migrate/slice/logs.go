package slice

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// logsOptions are the options of the command logs, with the names of kubectl's flags.
type logsOptions struct {
	named
	ordinals []int
	allPods  bool
	// container is the chosen container; empty means the default one.
	container     string
	allContainers bool
	log           corev1.PodLogOptions
	tail          int64
	limitBytes    int64
	since         time.Duration
	sinceTime     string
	prefix        bool
	ignoreErrors  bool
	maxRequests   int
	podTimeout    time.Duration
	client        *podClient
}

const (
	// everyLine is the value of --tail that means the whole log.
	everyLine = -1
	// followedAtOnce is kubectl's limit of logs that are followed at once.
	followedAtOnce = 5
	// podTimeout is how long kubectl waits for a pod.
	podTimeout = 20 * time.Second
)

const logsHelp = `Prints the log of a container in a pod of a StatefulSet, as "kubectl logs" does for built-in
kinds: of one pod that runs, of the pods with --ordinal, or of all with --all-pods.

The pods are those that the set's selector matches, without pods of another controller. On a
terminal, control characters are escaped; into a file or pipe the log is written unchanged.
"kubectl logs" works for a pod by its name, and for pods by their labels (-l).

Exit codes: 0 printed, 1 error, or interrupted while following.`

const logsExamples = `  # The log of one pod; of ordinal 2; of all pods, each line with the name of its pod
  migrate logs web -n shop
  migrate logs web --ordinal 2 -n shop
  migrate logs web --all-pods -n shop

  # Follow all containers of all pods, of which there are up to ten
  migrate logs web --all-pods --all-containers -f --max-log-requests 10 -n shop

  # Why the container app of ordinal 0 ended the last time
  migrate logs web app --ordinal 0 --previous --tail 20 -n shop`

func newLogs(c *command.Common) *cobra.Command {
	o := &logsOptions{named: named{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "logs NAME [CONTAINER]", Short: "Print the logs of a StatefulSet's pods",
		Long: logsHelp, Example: logsExamples,
	})
	flags := cmd.Flags()
	flags.IntSliceVar(&o.ordinals, "ordinal", nil, "print the logs of the pods with these `ORDINALS`, such as 0,2")
	flags.BoolVar(&o.allPods, "all-pods", false, "print the logs of all pods, with --prefix")
	flags.StringVarP(&o.container, "container", "c", "", "print the log of this container (default: kubectl.kubernetes.io/default-container, or the first)")
	flags.BoolVar(&o.allContainers, "all-containers", false, "print the logs of all containers of each pod")
	o.addLogFlags(flags)
	return cmd
}

// addLogFlags adds the flags that select a part of a log and how it is printed.
func (o *logsOptions) addLogFlags(flags *pflag.FlagSet) {
	flags.BoolVarP(&o.log.Follow, "follow", "f", false, "follow the log: print each new line")
	flags.BoolVarP(&o.log.Previous, "previous", "p", false, "print the log of the container's previous instance")
	flags.BoolVar(&o.log.Timestamps, "timestamps", false, "print a time before each line")
	flags.BoolVar(&o.log.InsecureSkipTLSVerifyBackend, "insecure-skip-tls-verify-backend", false, "do not verify the kubelet's certificate: the log may then come from another server")
	flags.Int64Var(&o.limitBytes, "limit-bytes", 0, "print at most this many bytes of each log (default: no limit)")
	flags.Int64Var(&o.tail, "tail", everyLine, "print this many of the last lines; -1 means all")
	flags.DurationVar(&o.since, "since", 0, "print only lines that are younger, such as 5s, 2m or 3h (default: all)")
	flags.StringVar(&o.sinceTime, "since-time", "", "print only lines since this time, in RFC 3339 (default: all)")
	flags.BoolVar(&o.prefix, "prefix", false, "print the names of pod and container before each line")
	flags.BoolVar(&o.ignoreErrors, "ignore-errors", false, "continue with the other logs after an error")
	flags.IntVar(&o.maxRequests, "max-log-requests", followedAtOnce, "how many logs may be followed at once")
	flags.DurationVar(&o.podTimeout, "pod-running-timeout", podTimeout, "how long to wait for a pod that does not exist, or whose container has not started")
}

// Complete reads the name and the container.
func (o *logsOptions) Complete(cmd *cobra.Command, args []string) error {
	const most = 2
	if len(args) == most {
		if cmd.Flag("container").Changed {
			return command.Usagef("give the container once: as an argument, or with --container")
		}
		o.container, args = args[1], args[:1]
	}
	o.prefix = o.prefix || o.allPods || len(o.ordinals) > 1
	return o.named.Complete(cmd, args)
}

// Validate rejects invalid combinations of flags, and sets the options of each log.
func (o *logsOptions) Validate() error {
	switch {
	case o.allPods && len(o.ordinals) > 0:
		return command.Usagef("--all-pods and --ordinal exclude each other")
	case len(o.ordinals) > 0 && slices.Min(o.ordinals) < 0:
		return command.Usagef("--ordinal must not be negative")
	case o.allContainers && o.container != "":
		return command.Usagef("--all-containers excludes container %s", o.container)
	case o.since != 0 && o.sinceTime != "":
		return command.Usagef("--since and --since-time exclude each other")
	case o.since < 0:
		return command.Usagef("--since must not be negative")
	case o.limitBytes < 0:
		return command.Usagef("--limit-bytes must not be negative")
	case o.tail < everyLine:
		return command.Usagef("--tail must be at least %d", everyLine)
	case o.podTimeout <= 0:
		return command.Usagef("--pod-running-timeout must be positive")
	}
	if o.tail > everyLine {
		o.log.TailLines = &o.tail
	}
	if o.limitBytes > 0 {
		o.log.LimitBytes = &o.limitBytes
	}
	if o.since > 0 {
		o.log.SinceSeconds = new(int64(max(1, o.since.Round(time.Second).Seconds()))) // the API counts whole seconds
	}
	if o.sinceTime != "" {
		at, err := time.Parse(time.RFC3339, o.sinceTime)
		if err != nil {
			return command.Usagef("--since-time must be a time such as 2026-01-31T06:00:00Z, not %q", o.sinceTime)
		}
		o.log.SinceTime = &metav1.Time{Time: at}
	}
	return nil
}

// Run prints the logs.
func (o *logsOptions) Run(ctx context.Context) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	if o.client, err = o.podsOf(s); err != nil {
		return err
	}
	pods, err := o.pods(ctx, s)
	if err != nil {
		return err
	}
	logs, err := o.logs(pods)
	if err != nil {
		return err
	}
	if o.log.Follow {
		err = o.follow(ctx, logs)
		if ctx.Err() != nil {
			return &command.ExitError{Code: command.ExitFailure, Err: command.Cause(ctx), Silent: true} // the user ends it so
		}
		return err
	}
	for _, each := range logs {
		if err := o.print(ctx, each, o.sink()); err != nil {
			return err
		}
	}
	return nil
}
