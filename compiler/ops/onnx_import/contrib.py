"""Schemas of ONNX Runtime's operators in the domain com.microsoft, which the onnx package lacks.

A row has the operands, the number of outputs and the attributes. `?` marks an optional operand or
attribute, and `...` an operand that occurs one or more times.

Source: the contrib operators of ONNX Runtime 1.31 (docs/ContribOperators.md).
"""

from __future__ import annotations

ROWS = """\
Attention(input, weights, bias?, mask_index?, past?, attention_bias?, past_sequence_length?) ->
    1..2 {int do_rotary?, float mask_filter_value?, int num_heads, int past_present_share_buffer?,
    ints qkv_hidden_sizes?, int rotary_embedding_dim?, float scale?, int unidirectional?}
BiasAdd(X, bias, skip) -> 1
BiasDropout(data, bias, residual?, ratio?, training_mode?) -> 1..2 {int seed?}
BiasGelu(A, B) -> 1
BiasSoftmax(data, bias) -> 1 {int axis?, int is_inner_broadcast}
BiasSplitGelu(X, bias) -> 1
CDist(A, B) -> 1 {string metric?}
ConvTransposeWithDynamicPads(X, W, Pads?, B?) -> 1 {string auto_pad?, ints dilations?, int group?,
    ints kernel_shape?, ints output_padding?, ints strides?}
DequantizeLinear(x, x_scale, x_zero_point?) -> 1 {int axis?}
DynamicQuantizeLSTM(X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?, W_scale,
    W_zero_point, R_scale, R_zero_point) -> 0..3 {floats activation_alpha?, floats
    activation_beta?, strings activations?, float clip?, string direction?, int hidden_size?, int
    input_forget?}
DynamicQuantizeMatMul(A, B, b_scale, b_zero_point?, bias?) -> 1
EmbedLayerNormalization(input_ids, segment_ids?, word_embedding, position_embedding,
    segment_embedding?, gamma, beta, mask?, position_ids?) -> 1..3 {float epsilon?, int
    mask_index_type?}
ExpandDims(X, axis) -> 1
FastGelu(X, bias?) -> 1
FusedConv(X, W, B?, Z?) -> 1 {string activation?, floats activation_params?, string auto_pad?,
    ints dilations?, int group?, ints kernel_shape?, ints pads?, ints strides?}
FusedGemm(A, B, C?) -> 1 {string activation?, float activation_alpha?, float activation_beta?,
    float activation_gamma?, float alpha?, float beta?, int transA?, int transB?}
FusedMatMul(A, B) -> 1 {float alpha?, int transA?, int transB?, int transBatchA?, int
    transBatchB?}
FusedMatMulActivation(A, B) -> 1 {string activation, float activation_alpha?, int
    activation_axis?, float activation_beta?, float activation_gamma?, float alpha?, int transA?,
    int transB?, int transBatchA?, int transBatchB?}
GatherBlockQuantized(data, indices, scales, zero_points?) -> 1 {int bits?, int block_size?, int
    gather_axis?, int quantize_axis?}
GatherND(data, indices) -> 1
Gelu(X) -> 1
GemmFastGelu(X, W, bias?) -> 1
GridSample(X, Grid) -> 1 {int align_corners?, string mode?, string padding_mode?}
GroupNorm(X, gamma, beta) -> 1 {int activation, int channels_last?, float epsilon?, int groups}
GroupQueryAttention(query, key?, value?, past_key?, past_value?, seqlens_k, total_sequence_length,
    cos_cache?, sin_cache?, position_ids?, attention_bias?, head_sink?, k_scale?, v_scale?,
    q_norm_weight?, k_norm_weight?) -> 1..4 {int causal?, int do_rotary?, string k_quant_type?,
    int kv_cache_bit_width?, int kv_num_heads, int local_window_size?, int num_heads, float
    qk_norm_epsilon?, int qk_output?, int rotary_interleaved?, float scale?, int
    sliding_window_cache?, int smooth_softmax?, float softcap?, string v_quant_type?}
LayerNormalization(X, Scale, B?) -> 1..3 {int axis?, float epsilon?, int stash_type?}
MatMulInteger16(A, B) -> 1
MatMulIntegerToFloat(A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?) -> 1
MatMulNBits(A, B, scales, zero_points?, g_idx?, bias?) -> 1 {int K, int N, int accuracy_level?,
    int bits?, int block_size, int weight_prepacked?}
MulInteger(A, A_zero_point?, B, B_zero_point?) -> 1
MultiHeadAttention(query, key?, value?, bias?, key_padding_mask?, attention_bias?, past_key?,
    past_value?, past_sequence_length?, cache_indirection?) -> 1..4 {float mask_filter_value?, int
    num_heads, float scale?, int unidirectional?}
NhwcMaxPool(x) -> 1 {string auto_pad?, int ceil_mode?, ints dilations?, ints kernel_shape, ints
    pads?, ints strides?}
Pad(data, pads, value?) -> 1 {string mode?}
QAttention(input, weight, bias, input_scale, weight_scale, mask_index?, input_zero_point?,
    weight_zero_point?, past?) -> 1..2 {int do_rotary?, float mask_filter_value?, int num_heads,
    int past_present_share_buffer?, float scale?, int unidirectional?}
QGemm(A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?) -> 1 {float
    alpha?, int transA?, int transB?}
QLinearAdd(A, A_scale, A_zero_point?, B, B_scale, B_zero_point?, C_scale, C_zero_point?) -> 1
QLinearAveragePool(X, x_scale, x_zero_point?, y_scale, y_zero_point?) -> 1 {string auto_pad?, int
    ceil_mode?, int channels_last?, int count_include_pad?, ints kernel_shape, ints pads?, ints
    strides?}
QLinearConcat(Y_scale, Y_zero_point, inputs...) -> 1 {int axis}
QLinearGlobalAveragePool(X, x_scale, x_zero_point, y_scale, y_zero_point) -> 1 {int
    channels_last?}
QLinearLeakyRelu(X, X_scale, X_zero_point?, Y_scale, Y_zero_point?) -> 1 {float alpha?}
QLinearMul(A, A_scale, A_zero_point?, B, B_scale, B_zero_point?, C_scale, C_zero_point?) -> 1
QLinearReduceMean(data, data_scale, data_zero_point?, reduced_scale, reduced_zero_point?) -> 1
    {ints axes, int keepdims}
QLinearSigmoid(X, X_scale, X_zero_point?, Y_scale, Y_zero_point?) -> 1
QLinearSoftmax(X, X_scale, x_zero_point?, y_scale, y_zero_point) -> 1 {int axis?, int opset}
QLinearWhere(condition, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale, z_zero_point)
    -> 1
QuantizeLinear(x, y_scale, y_zero_point?) -> 1 {int axis?}
QuickGelu(X) -> 1 {float alpha?}
Range(start, limit, delta?) -> 1
ReduceSumInteger(data) -> 1 {ints axes, int keepdims}
RotaryEmbedding(input, position_ids, cos_cache, sin_cache) -> 1 {int interleaved?, int
    is_packed_batching?, int num_heads?, int rotary_embedding_dim?, float scale?}
SimplifiedLayerNormalization(X, scale) -> 1..2 {int axis?, float epsilon?, int stash_type?}
SkipGroupNorm(X, gamma, beta, skip, bias?) -> 1..2 {int activation, int channels_last?, float
    epsilon?, int groups}
SkipLayerNormalization(input, skip, gamma, beta?, bias?) -> 1..4 {float epsilon?}
SkipSimplifiedLayerNormalization(input, skip, gamma, bias?) -> 1..4 {float epsilon?}
TransposeMatMul(A, B) -> 1 {float alpha?, int transA?, int transB?}
Trilu(X, k?) -> 1 {int upper?}
"""
