package e2e

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// extraTypes are what the tests write and the product does not.
var extraTypes = []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme}
