package mcs

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"text/template"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

//go:embed coredns.yaml
var corednsText string

var corednsTemplate = template.Must(template.New("coredns").Parse(corednsText))

// InstallDNS installs CoreDNS, of this image, as the DNS of a kubeadm cluster, and waits until it answers. It replaces
// an existing CoreDNS.
func InstallDNS(ctx context.Context, at *rest.Config, image string) error {
	c, err := newClient(at)
	if err != nil {
		return err
	}
	address, err := dnsAddress(ctx, c)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := corednsTemplate.Execute(&text, struct{ Address, Image string }{address, image}); err != nil {
		return err
	}
	if err := apply(ctx, c, &text); err != nil {
		return fmt.Errorf("install CoreDNS: %w", err)
	}
	deployment := &appsv1.Deployment{}
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "coredns"}, deployment)
		status := deployment.Status
		return status.ObservedGeneration >= deployment.Generation && status.UpdatedReplicas > 0 && status.AvailableReplicas == status.Replicas, err
	})
	if err != nil {
		return fmt.Errorf("CoreDNS does not become available: %w: %+v", err, deployment.Status)
	}
	return nil
}

// dnsAddress returns the DNS address that the kubelets give to pods.
func dnsAddress(ctx context.Context, c client.Client) (string, error) {
	settings := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "kubelet-config"}, settings); err != nil {
		return "", fmt.Errorf("read what kubeadm told the kubelets: %w", err)
	}
	var kubelet struct {
		ClusterDNS []string `json:"clusterDNS"`
	}
	if err := yaml.Unmarshal([]byte(settings.Data["kubelet"]), &kubelet); err != nil {
		return "", err
	}
	if len(kubelet.ClusterDNS) == 0 {
		return "", errors.New("ConfigMap kube-system/kubelet-config names no clusterDNS")
	}
	return kubelet.ClusterDNS[0], nil
}

func apply(ctx context.Context, c client.Client, text io.Reader) error {
	documents := utilyaml.NewYAMLOrJSONDecoder(text, 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(mirrors), client.ForceOwnership); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

func newClient(at *rest.Config) (client.Client, error) {
	scheme := kruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(at, client.Options{Scheme: scheme})
}

const (
	poll     = 100 * time.Millisecond
	patience = 2 * time.Minute
)

// Install installs the resource definitions in a cluster and waits until they are served.
func Install(ctx context.Context, at *rest.Config) error {
	c, err := newClient(at)
	if err != nil {
		return err
	}
	for _, text := range [][]byte{mcscrd.ServiceExportCRD, mcscrd.ServiceImportCRD} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			return err
		}
		if err := fixture.Define(ctx, c, crd); err != nil {
			return err
		}
	}
	return fixture.AwaitServed(ctx, c, &mcsv1beta1.ServiceExportList{}, &mcsv1beta1.ServiceImportList{})
}
