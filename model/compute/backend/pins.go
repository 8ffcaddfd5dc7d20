package backend

// plugins by the name of the backend. Versions and hashes pin the files that were
// tested.
var plugins = map[string]plugin{
	XLACPU: {
		kind: "cpu", backend: XLACPU, version: "0.0.1",
		object: "pjrt_c_api_cpu_plugin.so",
		wheels: []wheel{{
			name: "xla-cpu-pjrt", version: "0.0.1",
			sha256: "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc",
			from:   "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", to: "pjrt_c_api_cpu_plugin.so",
		}},
	},
	// The plugin looks for NVIDIA's libraries relative to itself, in the
	// directories that their wheels have below nvidia/.
	XLACUDA: {
		kind: "cuda", backend: XLACUDA, version: "0.11.2", needsGPU: true,
		object: "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
		wheels: []wheel{
			{"jax-cuda13-pjrt", "0.11.2", "e5ff589d43064913bb74027682d89639c7ea48f9f81c2bae6fc75117e913f93e", "jax_plugins/", "jax_plugins/"},
			nvidia("nvidia-cublas", "13.10.0.20", "dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84"),
			nvidia("nvidia-cuda-cupti", "13.5.25", "9dcca41c12a734192b14e7128ae116bc9ce1b9da686e2ebf48ae7a4415f76650"),
			nvidia("nvidia-cuda-nvcc", "13.5.37", "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7"),
			nvidia("nvidia-cuda-crt", "13.5.37", "e898b7f73d3035fa89915a3f7bf3b54a73e90249746111aed295822c4729bb29"),
			nvidia("nvidia-nvvm", "13.5.37", "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070"),
			nvidia("nvidia-cuda-runtime", "13.5.37", "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d"),
			nvidia("nvidia-cuda-nvrtc", "13.5.37", "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc"),
			nvidia("nvidia-cudnn-cu13", "9.28.0.42", "7358353c75bb121a58e5f7712fe6d588883dc1df8ba00f428237e44e97543c4d"),
			nvidia("nvidia-cufft", "12.5.0.14", "b8be26837a5abad2b5b74f3e92dd29f622a42934b355be0961a48712cbba23ad"),
			nvidia("nvidia-cusolver", "12.4.1.2", "b3b8e02fd2f2df869369af075dc3a179d43f6f7b85e94632a7dce556697be044"),
			nvidia("nvidia-cusparse", "12.9.4.2", "072667e58c851a318738f5527a12eb225cbf058803f2ea451c722d8cf8edddec"),
			nvidia("nvidia-nccl-cu13", "2.32.3", "1459723080ac889d73a26edfa3e04383a7928ab31ac8f0ec43b3ea9548b04ff3"),
			nvidia("nvidia-nvjitlink", "13.5.37", "280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb"),
			nvidia("nvidia-nvshmem-cu13", "3.8.0", "81a4d1f666543e6d34df6d2ff940c7da1435e34e186aab6f3c2b48861b64ef38"),
		},
	},
}

// nvidia is a wheel of NVIDIA's libraries.
func nvidia(name, version, sha256 string) wheel {
	return wheel{name: name, version: version, sha256: sha256, from: "nvidia/", to: "nvidia/"}
}
