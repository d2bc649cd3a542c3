// Command manager runs the controllers for Migrations and for StatefulSets of our own kind.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/manager/page"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/clusters/fresh"
	"github.com/sliceshift/sliceshift/internal/heap"
	"github.com/sliceshift/sliceshift/internal/kubeconfig"
	"github.com/sliceshift/sliceshift/internal/metric"
	"github.com/sliceshift/sliceshift/internal/version"
	"github.com/sliceshift/sliceshift/migration/berths"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/evacuation"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/traces"
	stsslices "github.com/sliceshift/sliceshift/slices"
	"github.com/sliceshift/sliceshift/slices/observe"
	"github.com/sliceshift/sliceshift/volumes"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	defer heap.Bound()()
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	path := flags.String("config", "", "path of a configuration file (YAML)")
	config.AddFlags(flags)
	if err := flags.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	settings, err := config.Load(flags, *path)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger(settings))
	ctrl.Log.WithName("manager").Info("starting", "version", version.Get().Version, "commit", version.Get().Commit, "watchNamespace", settings.WatchNamespace, "slices", settings.Slices.Enabled)
	local, err := localConfig(settings)
	if err != nil {
		return err
	}
	mgr, err := newManager(local, settings)
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	recorder, finish, err := startTracing(ctx, settings.OTLPEndpoint)
	if err != nil {
		return err
	}
	defer finish()
	if err := setup(mgr, local, settings, recorder); err != nil {
		return err
	}
	if err := page.Add(mgr, local, settings); err != nil {
		return err
	}
	if settings.Slices.Enabled {
		if err := setupSlices(ctx, mgr, settings); err != nil {
			return err
		}
	}
	if err := setupEvacuations(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// localConfig returns the client configuration of the manager's own cluster.
func localConfig(settings config.Config) (*rest.Config, error) {
	local, err := clientcmd.BuildConfigFromFlags("", settings.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connecting to the manager's own cluster: %w", err)
	}
	clusters.Impatient(local)
	local.UserAgent = "sliceshift-manager/" + version.Get().Version
	return local, nil
}

func logger(settings config.Config) logr.Logger {
	options := &slog.HandlerOptions{}
	if settings.LogLevel == config.LogLevelDebug {
		options.Level = slog.LevelDebug
	}
	var handler slog.Handler = slog.NewJSONHandler(os.Stderr, options)
	if settings.LogFormat == config.LogFormatText {
		handler = slog.NewTextHandler(os.Stderr, options)
	}
	return logr.FromSlogHandler(handler)
}

// serverClock records the time of the manager's API server.
var serverClock clusters.ServerClock

func newManager(local *rest.Config, settings config.Config) (ctrl.Manager, error) {
	own := rest.CopyConfig(local)
	own.Wrap(serverClock.Wrap)
	own.QPS, own.Burst = settings.ClusterClient.Rate(), settings.ClusterClient.Burst
	options := ctrl.Options{
		Scheme:                        clusters.NewScheme(),
		Metrics:                       metricsOptions(settings),
		HealthProbeBindAddress:        settings.HealthProbeBindAddress,
		LeaderElection:                settings.LeaderElection.Enabled,
		LeaderElectionID:              settings.LeaderElection.ID,
		LeaderElectionNamespace:       settings.LeaderElection.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &settings.LeaderElection.LeaseDuration,
		RenewDeadline:                 &settings.LeaderElection.RenewDeadline,
		RetryPeriod:                   &settings.LeaderElection.RetryPeriod,
	}
	if settings.WatchNamespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{settings.WatchNamespace: {}}
	}
	watches := &fresh.Watches{}
	metric.Serve(watches)
	options.Cache = watches.Options(observe.CacheOptions(options.Cache))
	mgr, err := ctrl.NewManager(own, options)
	if err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("cache", watches.Check)
}

// metricsOptions returns the options of the metrics server. With MetricsSecure it authorizes each reader at the API
// server.
func metricsOptions(settings config.Config) metricsserver.Options {
	options := metricsserver.Options{BindAddress: settings.MetricsBindAddress}
	if settings.MetricsSecure {
		options.SecureServing, options.FilterProvider = true, filters.WithAuthenticationAndAuthorization
		options.CertDir = settings.MetricsCertDir
	}
	return options
}

func setup(mgr ctrl.Manager, local *rest.Config, settings config.Config, recorder traces.Recorder) error {
	pool := clusters.NewPool(int64(settings.ClusterClient.Memory) << 20)
	pool.Mapper = mgr.GetRESTMapper()
	reconciler := &engine.Reconciler{
		Client:    client.WithFieldOwner(mgr.GetClient(), api.FieldManager),
		Live:      mgr.GetAPIReader(),
		Namespace: settings.WatchNamespace,
		Connector: &engine.Connector{
			Secrets: mgr.GetAPIReader(), Local: local, DefaultServiceAccount: settings.DefaultServiceAccount,
			QPS: settings.ClusterClient.Rate(), Burst: settings.ClusterClient.Burst, Timeout: settings.ClusterClient.Timeout,
			KubeConfigs: kubeconfig.Options{AllowLocal: settings.ClusterClient.AllowLocalAddresses},
			Pool:        pool,
		},
		Events: mgr.GetEventRecorder("sliceshift"),
		Holder: holder(), ServerTime: serverClock.Of,
		Traces:    recorder,
		Addresses: health.Addresses{Listed: settings.Gates.Prometheus, AllowLocal: settings.ClusterClient.AllowLocalAddresses},
		Probes:    health.Addresses{Listed: settings.Gates.OfProbes(), AllowLocal: settings.ClusterClient.AllowLocalAddresses},
		Volumes: volumes.Policy{
			Paths: settings.Volumes.AllowPaths, SecretNamespaces: settings.Volumes.SecretNamespaces, Drivers: settings.Volumes.Drivers,
		},
	}
	return reconciler.SetupWithManager(mgr, engine.Limits{
		Concurrency: settings.Concurrency, Namespace: settings.PerNamespace(),
		Destination: settings.ActivePerDestination, DestinationShare: settings.ActivePerNamespace(),
		Handoffs: berths.Limits{Node: settings.HandoffsPerNode, Link: settings.HandoffsPerLink, StorageClass: settings.HandoffsPerStorageClass},
		Relays:   settings.Relays, RelayShare: settings.RelayShare(),
	})
}

// setupEvacuations runs the controller of Evacuations, if the cluster serves them. An older version of this product has
// installed no definition of them.
func setupEvacuations(mgr ctrl.Manager) error {
	kind := api.GroupVersion.WithKind("Evacuation")
	_, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		mgr.GetLogger().Info("Evacuations are not served: apply the resource definitions of this version, and restart the manager")
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for the definition of Evacuations: %w", err)
	}
	reconciler := &evacuation.Reconciler{Client: client.WithFieldOwner(mgr.GetClient(), api.FieldManager), Live: mgr.GetAPIReader(), Events: mgr.GetEventRecorder("sliceshift"), Clock: clock.RealClock{}}
	return reconciler.SetupWithManager(mgr)
}

func setupSlices(ctx context.Context, mgr ctrl.Manager, settings config.Config) error {
	reconciler := &stsslices.Reconciler{
		Client: client.WithFieldOwner(mgr.GetClient(), slicesapi.FieldManager),
		Live:   mgr.GetAPIReader(),
		Events: mgr.GetEventRecorder("sliceshift"),
	}
	return reconciler.SetupWithManager(ctx, mgr, settings.Concurrency)
}

// holder returns an identity of this process that no other process ever has.
func holder() string {
	name, err := os.Hostname()
	if err != nil {
		name = "manager"
	}
	return name + "-" + string(uuid.NewUUID())
}
